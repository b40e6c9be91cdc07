// Sessions: renewal, storage, and signing in again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AetherError, Requests, Session, memoryStore } from "../../dist/index.js";
import { Answers, token } from "../support/answers.mjs";
import { VirtualTime, settled } from "../support/time.mjs";

const REFUSED = [401, { code: 16, message: "Auth token invalid" }];
const ACCOUNT = { method: "GET", path: "/v2/account", isIdempotent: true };

/** In-memory server that signs in, renews, and knows which tokens are valid. */
class Backend {
  count = 0;
  good = new Set();
  refreshes = new Set();
  time = new VirtualTime();
  answers = new Answers((request) => this.answer(request));

  constructor(seconds = 900) {
    this.seconds = seconds;
  }

  session(store = memoryStore()) {
    const requests = new Requests({ url: "http://server", fetch: this.answers.fetch, time: this.time });
    return new Session(requests, { store, serverKey: "key" });
  }

  async answer({ path, headers, body }) {
    await settled();
    const isByKey = headers.authorization === `Basic ${btoa("key:")}`;
    if (path.startsWith("/v2/account/authenticate/")) return isByKey ? this.tokens(true) : REFUSED;
    if (path === "/v2/account/session/refresh") return isByKey && this.refreshes.delete(body.token) ? this.tokens(false) : REFUSED;
    return this.good.has(headers.authorization) ? [200, { who: headers.authorization }] : REFUSED;
  }

  tokens(created) {
    this.count += 1;
    const [access, refresh] = [token({ n: this.count }, this.seconds), `refresh-${this.count}`];
    this.good.add(`Bearer ${access}`);
    this.refreshes.add(refresh);
    return [200, { token: access, refresh_token: refresh, created }];
  }

  /** Revokes all tokens. */
  forget() {
    this.good.clear();
    this.refreshes.clear();
  }

  asked(part) {
    return this.answers.paths.filter((path) => path.includes(part)).length;
  }
}

test("a visitor is signed in by a stored device id", async () => {
  const backend = new Backend();
  const store = memoryStore();
  const identity = await backend.session(store).visit({ username: "ann" });
  assert.deepEqual(identity, { userId: "u1", username: "ann", variables: {}, isNew: true });
  const device = backend.answers.asked[0].body.id;
  assert.match(device, /^[0-9a-f]{32}$/);
  assert.equal(backend.answers.paths[0], "POST /v2/account/authenticate/device?username=ann");
  const again = await backend.session(store).visit();
  assert.equal(again.isNew, false);
  assert.equal(backend.answers.asked.length, 1, "the stored session continues");
  const anew = backend.session(store);
  await anew.visit();
  await anew.logOut();
  await anew.visit();
  assert.equal(backend.answers.asked.at(-1).body.id, device, "the id is stored longer than the session");
});

test("concurrent visits sign in once", async () => {
  const backend = new Backend();
  const session = backend.session();
  const gone = session.visit({ signal: AbortSignal.abort(new Error("enough")) }).catch((error) => error);
  const [one, other] = await Promise.all([session.visit(), session.visit()]);
  assert.equal(one.userId, other.userId);
  assert.equal((await gone).message, "enough");
  assert.equal(backend.asked("device"), 1);
});

test("credentials map to their paths", async () => {
  const backend = new Backend();
  const session = backend.session();
  const ways = [
    [{ email: "a@b.c", password: "secret" }, "email", { email: "a@b.c", password: "secret" }],
    [{ username: "ann", password: "secret" }, "email?username=ann", { password: "secret" }],
    [{ custom: "custom-1" }, "custom", { id: "custom-1" }],
    [{ external: "auth 0", token: "t" }, "external/auth%200", { token: "t" }],
    [{ platform: "steam", token: "t" }, "steam", { token: "t" }],
    [{ platform: "facebookinstantgame", signedPlayerInfo: "s" }, "facebookinstantgame", { signed_player_info: "s" }],
  ];
  for (const [credentials, path, body] of ways) {
    await session.signIn(credentials);
    const request = backend.answers.asked.at(-1);
    assert.equal(request.path, `/v2/account/authenticate/${path}`);
    assert.deepEqual(request.body, body);
  }
  await session.signIn({ custom: "custom-1" }, { create: false, variables: { level: "2" } });
  assert.equal(backend.answers.asked.at(-1).path, "/v2/account/authenticate/custom?create=false");
  assert.deepEqual(backend.answers.asked.at(-1).body, { id: "custom-1", vars: { level: "2" } });
});

test("a token is renewed before it expires, once for all callers", async () => {
  const backend = new Backend();
  const session = backend.session();
  await session.visit();
  const first = await session.token();
  await backend.time.pass(869_000);
  assert.equal(await session.token(), first);
  await backend.time.pass(2_000);
  const tokens = await Promise.all([session.token(), session.token(), session.call(ACCOUNT).then(() => session.token())]);
  assert.equal(new Set(tokens).size, 1);
  assert.notEqual(tokens[0], first);
  assert.equal(backend.asked("refresh"), 1);
});

test("a wrong local clock does not cause early renewals", async () => {
  const backend = new Backend();
  backend.time.sleep(86_400_000 * 400);
  const session = backend.session();
  await session.visit();
  for (let count = 0; count < 3; count += 1) await session.call(ACCOUNT);
  assert.equal(backend.asked("refresh"), 0);
});

test("rejected calls share one renewal and are retried", async () => {
  const backend = new Backend();
  const session = backend.session();
  await session.visit();
  backend.good.clear();
  const answers = await Promise.all([1, 2, 3, 4].map(() => session.call(ACCOUNT)));
  assert.equal(new Set(answers.map((answer) => answer.who)).size, 1);
  assert.equal(backend.asked("refresh"), 1);
  assert.equal(backend.asked("GET /v2/account"), 8);
});

test("an error that new tokens do not fix is returned without further retries", async () => {
  const backend = new Backend();
  const session = backend.session();
  await session.visit();
  backend.good = { has: () => false, add: () => undefined };
  const error = await session.call(ACCOUNT).catch((thrown) => thrown);
  assert.ok(error instanceof AetherError && error.status === 401);
  assert.equal(backend.asked("GET /v2/account"), 2);
});

test("a visitor is signed in again after the session ended; other logins get an error", async () => {
  const backend = new Backend();
  const visitor = backend.session();
  await visitor.visit();
  backend.forget();
  assert.ok(await visitor.call(ACCOUNT));
  assert.equal(backend.asked("device"), 2);

  const store = memoryStore();
  await backend.session(store).signIn({ email: "a@b.c", password: "secret" });
  const member = backend.session(store);
  await member.visit();
  backend.forget();
  const error = await member.call(ACCOUNT).catch((thrown) => thrown);
  assert.equal(error.code, "unauthenticated");
  assert.equal(member.identity, undefined);
  assert.equal(backend.asked("device"), 2, "the account does not change silently");
  assert.equal((await member.call(ACCOUNT).catch((thrown) => thrown)).code, "signed_out");
});

test("pages that share a store share its tokens", async () => {
  const backend = new Backend();
  const store = memoryStore();
  const [one, other] = [backend.session(store), backend.session(store)];
  await one.visit();
  await other.visit();
  await one.refresh();
  backend.good.delete(`Bearer ${token({ n: 1 })}`);
  await other.call(ACCOUNT);
  assert.equal(backend.asked("refresh"), 1, "a refresh token is valid once, so the store is read first");
});

test("an aborted caller does not cancel the renewal for others", async () => {
  const backend = new Backend();
  const session = backend.session();
  await session.visit();
  backend.good.clear();
  const ending = new AbortController();
  const given = session.call(ACCOUNT, { signal: ending.signal }).catch((error) => error);
  const kept = session.call(ACCOUNT);
  await settled();
  await settled();
  ending.abort(new Error("enough"));
  assert.equal((await given).message, "enough");
  assert.ok(await kept);
});

test("a logout succeeds locally even if the server does not know the session", async () => {
  const backend = new Backend();
  const session = backend.session();
  await session.signIn({ custom: "custom-1" });
  backend.forget();
  await session.logOut();
  assert.equal(session.identity, undefined);
  assert.equal((await session.token().catch((thrown) => thrown)).code, "signed_out");
  const other = backend.session();
  await other.signIn({ custom: "custom-1" });
  await other.logOut({ everywhere: true });
  assert.deepEqual(backend.answers.asked.at(-1).body, {}, "without tokens, all sessions end");
});

test("a corrupt store counts as empty", async () => {
  for (const text of ["", "{", "null", "[]", '{"token":1}']) {
    const backend = new Backend();
    const session = backend.session({ get: (key) => (key.endsWith("session") ? text : undefined), set: () => undefined, delete: () => undefined });
    await session.visit();
    assert.equal(backend.asked("device"), 1);
  }
});
