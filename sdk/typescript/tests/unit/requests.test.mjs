// Requests: deadlines, retries, errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AetherError, Requests } from "../../dist/index.js";
import { path } from "../../dist/services/requests.js";
import { Answers } from "../support/answers.mjs";
import { VirtualTime, settled } from "../support/time.mjs";

const GET = { method: "GET", path: "/x", isIdempotent: true };
const POST = { method: "POST", path: "/x", body: { a: 1 } };

function made(...answers) {
  const [time, all] = [new VirtualTime(), new Answers(...answers)];
  return { time, all, requests: new Requests({ url: "http://server:7350/", fetch: all.fetch, time }) };
}

/** Tracks the outcome of a promise. */
function outcome(promise) {
  const found = {};
  promise.then(
    (value) => (found.value = value),
    (error) => (found.error = error),
  );
  return found;
}

test("idempotent calls are retried with backoff", async () => {
  const { time, all, requests } = made(new TypeError("no network"), [503, { code: 14, message: "later" }], [429, {}], [200, { ok: 1 }]);
  const end = outcome(requests.send(GET));
  await settled();
  assert.equal(all.asked.length, 1);
  await time.pass(199);
  assert.equal(all.asked.length, 1);
  await time.pass(1);
  assert.equal(all.asked.length, 2);
  await time.pass(400);
  assert.equal(all.asked.length, 3);
  await time.pass(800);
  assert.deepEqual(end.value, { ok: 1 });
  assert.equal(time.waiting, 0);
});

test("after four attempts the last error is returned", async () => {
  const { time, all, requests } = made([503, { code: 14, message: "The database cannot be reached." }]);
  const end = outcome(requests.send(GET));
  await time.pass(5_000);
  assert.equal(all.asked.length, 4);
  assert.ok(end.error instanceof AetherError);
  assert.deepEqual([end.error.code, end.error.status, end.error.message], ["unavailable", 503, "The database cannot be reached."]);
});

test("other calls are sent once", async () => {
  for (const answer of [new TypeError("no network"), [503], [429]]) {
    const { time, all, requests } = made(answer);
    const end = outcome(requests.send(POST));
    await time.pass(10_000);
    assert.equal(all.asked.length, 1);
    assert.ok(end.error instanceof AetherError);
  }
});

test("other errors are not retried", async () => {
  const { time, all, requests } = made([404, { code: 5, message: "There is no such thing." }]);
  const end = outcome(requests.send(GET));
  await time.pass(10_000);
  assert.equal(all.asked.length, 1);
  assert.equal(end.error.code, "not_found");
});

test("Retry-After is respected", async () => {
  const { time, all, requests } = made([429, {}, { "retry-after": "3" }], [200]);
  const end = outcome(requests.send(GET));
  await time.pass(2_900);
  assert.equal(all.asked.length, 1);
  await time.pass(200);
  assert.deepEqual(end.value, {});
});

test("the time limit covers all attempts", async () => {
  const { time, requests } = made("never");
  const end = outcome(requests.send(GET));
  await time.pass(6_999);
  assert.deepEqual(end, {});
  await time.pass(1);
  assert.deepEqual([end.error.code, end.error.status], ["timed_out", 0]);
  const pausing = made([503, {}, { "retry-after": "60" }]);
  const late = outcome(pausing.requests.send(GET, { timeoutMs: 1_000 }));
  await pausing.time.pass(1_000);
  assert.equal(late.error.code, "timed_out");
});

test("a signal aborts a call with its reason, also between attempts", async () => {
  for (const answers of [["never"], [[503]]]) {
    const { time, all, requests } = made(...answers);
    const ending = new AbortController();
    const end = outcome(requests.send(GET, { signal: ending.signal }));
    await settled();
    ending.abort(new Error("enough"));
    await time.pass(10_000);
    assert.equal(end.error.message, "enough");
    assert.equal(all.asked.length, 1);
    assert.equal(time.waiting, 0, "no timer is left");
  }
  const { all, requests } = made([200]);
  await assert.rejects(requests.send(GET, { signal: AbortSignal.abort(new Error("before")) }), /before/);
  assert.equal(all.asked.length, 0);
});

test("errors of both formats and of proxies are unified", async () => {
  const cases = [
    [[400, { code: 3, message: "m" }], ["invalid_argument", 400, "m"]],
    [[403, { code: "no_guests", error: "e" }], ["no_guests", 403, "e"]],
    [[409, { code: 10, message: "m" }], ["aborted", 409, "m"]],
    [[400, { code: 99, message: "m" }], ["unknown", 400, "m"]],
    [[502, "<html>"], ["unavailable", 502, "The server answered 502."]],
    [[500, "null"], ["unknown", 500, "The server answered 500."]],
    [[200, "<html>"], ["unknown", 200, "The answer is not JSON; the URL may be of another server."]],
  ];
  for (const [answer, [code, status, message]] of cases) {
    const error = await made(answer).requests.send(POST).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.status, error.message, error.name], [code, status, message, "AetherError"]);
  }
});

test("names in paths and queries may be any string", async () => {
  const { all, requests } = made([200]);
  await requests.send({ ...GET, path: path`/v2/storage/${"a b/ü?"}`, query: { ids: ["x&y", "z"], none: undefined, limit: 5 } });
  assert.deepEqual(all.paths, ["GET /v2/storage/a%20b%2F%C3%BC%3F?ids=x%26y&ids=z&limit=5"]);
});
