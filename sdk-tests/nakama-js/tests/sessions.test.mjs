// Sessions: renewal and logout.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Session } from "@heroiclabs/nakama-js";
import { answered, client, refused, serve, user } from "./server.mjs";

const server = serve();

test("a refreshed session stays the same session", async () => {
  const { client: own, session, id, name } = await user(server);
  const before = session.refresh_token;
  await own.sessionRefresh(session, { level: "2" });
  assert.deepEqual(Object.keys(answered()).sort(), ["refresh_token", "token"]);
  assert.notEqual(session.refresh_token, before, "refresh tokens rotate");
  assert.deepEqual([session.user_id, session.username], [id, name]);
  assert.deepEqual(session.vars, { level: "2" });
  assert.equal((await own.getAccount(session)).user.id, id);
  await own.sessionRefresh(session);
  assert.deepEqual(session.vars, { level: "2" }, "variables stay if none are given");
});

test("a refresh returns a new username", async () => {
  const { client: own, session, name } = await user(server);
  await own.updateAccount(session, { username: `${name}-2` });
  await own.sessionRefresh(session);
  assert.equal(session.username, `${name}-2`);
});

test("only a refresh token can refresh", async () => {
  const { client: own, session } = await user(server);
  await refused(own.sessionRefresh(Session.restore(session.token, session.token)), 16, /[Rr]efresh token/);
  const nothing = { ...session, refresh_token: "" };
  await refused(own.sessionRefresh(nothing), 3, "Refresh token is required.");
});

test("the SDK refreshes an expiring session automatically", async () => {
  const { client: own, session } = await user(server);
  const before = session.token;
  own.expiredTimespanMs = 24 * 3_600_000;
  await setTimeout(1_100); // The same second would give the same token.
  await own.getAccount(session);
  assert.notEqual(session.token, before);
});

test("after a logout neither token is valid", async () => {
  const { client: own, session } = await user(server);
  const other = await user(server);
  assert.equal(await own.sessionLogout(session, session.token, session.refresh_token), true);
  assert.deepEqual(answered(), {});
  await refused(own.getAccount(session), 16, "Auth token invalid");
  await refused(own.sessionRefresh(session), 16);
  assert.equal((await other.client.getAccount(other.session)).user.id, other.id, "other users are not affected");
});

test("logging out without tokens ends every session of the user", async () => {
  const { client: own, session, id } = await user(server);
  const device = await own.getAccount(session).then((account) => account.devices[0].id);
  const second = await client(server).authenticateDevice(device);
  assert.equal(second.user_id, id);
  await own.sessionLogout(session, "", "");
  await refused(own.getAccount(session), 16, "Auth token invalid");
  await refused(own.getAccount(second), 16, "Auth token invalid");
  const third = await client(server).authenticateDevice(device);
  assert.equal((await own.getAccount(third)).user.id, id, "the next session is valid at once");
});

test("a user cannot log out others", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await refused(ann.client.sessionLogout(ann.session, bob.session.token, ""), 3);
  await refused(ann.client.sessionLogout(ann.session, "", bob.session.refresh_token), 3);
  assert.equal((await bob.client.getAccount(bob.session)).user.id, bob.id);
});

test("an invalid token is rejected", async () => {
  const { client: own, session } = await user(server);
  const [head, claims] = session.token.split(".");
  await refused(own.getAccount({ token: `${head}.${claims}.AAAA` }), 16, "Auth token invalid");
  await refused(own.getAccount({ token: session.refresh_token }), 16, "Auth token invalid");
  await refused(own.getAccount({ token: "" }), 16, "Auth token required");
});
