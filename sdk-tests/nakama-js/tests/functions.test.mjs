// Functions of a program, over HTTP and over the socket.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocketAdapterText } from "@heroiclabs/nakama-js";
import { WebSocketAdapterPb } from "@heroiclabs/nakama-js-protobuf";
import { answered, client, send, serveFunctions, user, wire } from "./server.mjs";

const KEY = "a0e1f2c3d4b5a6978899";
const server = serveFunctions(`api.http_key=${KEY}`);

/** Asserts that a call is rejected, in the format of functions. */
async function refused(call, status, code, message) {
  const response = await call.then(() => assert.fail("it was not refused"), (thrown) => thrown);
  assert.equal(response.status, status, wire.text);
  assert.deepEqual(answered(), { code, error: message, message });
}

test("a function of a user gets the payload and the user", async () => {
  const ann = await user(server);
  const answer = await ann.client.rpc(ann.session, "echo", { a: 1 });
  assert.equal(answer.id, undefined, "only the payload is sent");
  assert.deepEqual(answer.payload, { payload: '{"a":1}', query: {}, user: ann.id, socket: false });
  const upper = await ann.client.rpc(ann.session, "ECHO", {});
  assert.equal(upper.payload.payload, "{}", "names are not case-sensitive");
});

test("a function without a user is called with the HTTP key", async () => {
  const own = client(server);
  const answer = await own.rpcHttpKey(KEY, "echo", { a: 1 });
  assert.deepEqual(answer.payload, { payload: "", query: { payload: ['{"a":1}'] }, user: null, socket: false });
  const empty = await own.rpcHttpKey(KEY, "echo");
  assert.deepEqual(empty.payload.query, { payload: [""] });
  await refused(own.rpcHttpKey("wrong", "echo"), 401, 16, "HTTP key invalid");
  assert.equal(wire.headers.get("www-authenticate"), "HTTP key invalid");
  await refused(own.rpcHttpKey(KEY, "private"), 403, 7, "Sign in first.");
});

test("raw JSON is sent and answered with unwrap", async () => {
  const response = await send(server, "POST", `/v2/rpc/echo?unwrap&http_key=${KEY}&a=1&a=2`, { body: { b: [1] }, headers: { "content-type": "application/json" } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(answered(), { payload: '{"b":[1]}', query: { a: ["1", "2"], unwrap: [""] }, user: null, socket: false });
});

test("errors of functions have their code and text", async () => {
  const ann = await user(server);
  await refused(ann.client.rpc(ann.session, "fail", "closed"), 400, 9, '"closed"');
  await refused(ann.client.rpc(ann.session, "missing", {}), 404, 5, "RPC function not found");
  const nobody = await send(server, "POST", "/v2/rpc/echo", { body: '""' });
  assert.equal(nobody.status, 401);
  assert.equal(answered().message, "Auth token or HTTP key required");
});

for (const [format, adapter] of [["json", () => new WebSocketAdapterText()], ["protobuf", () => new WebSocketAdapterPb()]]) {
  test(`${format}: a function is called over the socket`, async () => {
    const ann = await user(server);
    const socket = ann.client.createSocket(false, false, adapter());
    socket.onerror = () => {};
    await socket.connect(ann.session, false);
    const answer = await socket.rpc("Echo", JSON.stringify({ a: 1 }));
    assert.deepEqual(JSON.parse(answer.payload), { payload: '{"a":1}', query: {}, user: ann.id, socket: true });
    // The key is for HTTP: a socket always has its user.
    const keyed = await socket.rpc("echo", "", KEY);
    assert.equal(JSON.parse(keyed.payload).user, ann.id);
    const error = await socket.rpc("fail", "closed").then(() => assert.fail("it failed"), (thrown) => thrown);
    assert.deepEqual([error.code, error.message], [7, "closed"]);
    socket.disconnect(false);
  });
}
