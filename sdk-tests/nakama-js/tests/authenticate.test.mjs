// Sign-in methods.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, client, fresh, refused, serve, user, wire } from "./server.mjs";

const server = serve();

/** Returns the claims of a token. */
function claims(token) {
  return JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
}

test("a device id creates an account once and finds it again", async () => {
  const [id, name] = [fresh("device"), fresh("ann")];
  const session = await client(server).authenticateDevice(id, true, name, { team: "red" });
  assert.deepEqual(Object.keys(answered()).sort(), ["created", "refresh_token", "token"]);
  assert.equal(wire.headers.get("content-type"), "application/json");
  assert.equal(session.created, true);
  assert.equal(session.username, name);
  assert.deepEqual(session.vars, { team: "red" });
  assert.equal(session.isexpired(Date.now() / 1000), false);
  assert.ok(session.expires_at - session.created_at > 70, "the SDK warns of shorter ones");
  assert.ok(session.refresh_expires_at - session.created_at > 3700, "the SDK warns of shorter ones");

  const again = await client(server).authenticateDevice(id, true, fresh("other"));
  assert.deepEqual(Object.keys(answered()).sort(), ["refresh_token", "token"], "`created` is omitted when false");
  assert.equal(again.created, false);
  assert.equal(again.user_id, session.user_id);
  assert.equal(again.username, name, "an existing account keeps its name");
  assert.equal(again.vars, undefined, "empty variables are omitted");
});

test("a token carries the claims that clients read", async () => {
  const { session } = await user(server);
  const { tid, uid, usn, exp, iat } = claims(session.token);
  const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  assert.match(tid, id, "ordered by time");
  assert.match(uid, id, "ordered by time");
  assert.equal(usn, session.username);
  assert.ok(Number.isInteger(exp) && Number.isInteger(iat) && exp > iat);
  assert.equal(claims(session.refresh_token).tid, tid);
  assert.equal(JSON.parse(Buffer.from(session.token.split(".")[0], "base64url")).typ, "JWT");
});

test("the SDK reads names and variables of any language from a token", async () => {
  const name = `${fresh("jürgen")} ~ 名前?`;
  const session = await client(server).authenticateDevice(fresh("device"), true, name, { city: "Zürich ~>?" });
  assert.equal(session.username, name);
  assert.deepEqual(session.vars, { city: "Zürich ~>?" });
});

test("without a username, one of ten letters is generated", async () => {
  const session = await client(server).authenticateDevice(fresh("device"));
  assert.equal(session.created, true, "`create` is true by default");
  assert.match(session.username, /^[A-Za-z]{10}$/);
});

test("with create=false no account is created", async () => {
  const own = client(server);
  await refused(own.authenticateDevice(fresh("device"), false), 5, "User account not found.");
  await refused(own.authenticateCustom(fresh("custom"), false), 5, "User account not found.");
});

test("a username that is taken is a conflict", async () => {
  const { name } = await user(server);
  const own = client(server);
  await refused(own.authenticateDevice(fresh("device"), true, name), 6, "Username is already in use.");
  await refused(own.authenticateCustom(fresh("custom"), true, name), 6, "Username is already in use.");
  await refused(own.authenticateEmail(`${fresh("ann")}@example.com`, "correct horse", true, name), 6);
});

test("ids that are too short or too long are rejected", async () => {
  const own = client(server);
  await refused(own.authenticateDevice("short"), 3, /Device ID/);
  await refused(own.authenticateDevice("x".repeat(129)), 3, /Device ID/);
  await refused(own.authenticateCustom("short"), 3, /Custom ID/);
  await refused(own.authenticateDevice(fresh("device"), true, "x".repeat(129)), 3, /Username/);
});

test("a custom id creates an account once and finds it again", async () => {
  const id = fresh("custom");
  const session = await client(server).authenticateCustom(id, true, fresh("bob"), { a: "b" });
  const again = await client(server).authenticateCustom(id);
  assert.deepEqual([session.created, again.created], [true, false]);
  assert.equal(again.user_id, session.user_id);
});

test("an email address with its password creates an account once and finds it again", async () => {
  const [email, name] = [`${fresh("Ann")}@Example.com`, fresh("ann")];
  const own = client(server);
  const session = await own.authenticateEmail(email, "correct horse", true, name);
  const again = await own.authenticateEmail(email.toLowerCase(), "correct horse", false);
  assert.deepEqual([session.created, again.created], [true, false]);
  assert.equal(again.user_id, session.user_id);
  await refused(own.authenticateEmail(email, "correct house"), 16, "Invalid credentials.");
  await refused(own.authenticateEmail(`${fresh("nobody")}@example.com`, "correct horse", false), 16, "Invalid credentials.");
  await refused(own.authenticateEmail("no address", "correct horse"), 3, /Email/);
  await refused(own.authenticateEmail(`${fresh("ann")}@example.com`, "short"), 3, /Password/);
});

test("without an email address, username and password sign in, and no account is created", async () => {
  const name = fresh("ann");
  const own = client(server);
  const session = await own.authenticateEmail(`${fresh("ann")}@example.com`, "correct horse", true, name);
  const again = await own.authenticateEmail("", "correct horse", true, name);
  assert.equal(again.user_id, session.user_id);
  await refused(own.authenticateEmail("", "correct horse", true, fresh("nobody")), 16, "Invalid credentials.");
});

test("providers that are not configured are rejected", async () => {
  const own = client(server);
  const notConfigured = /not configured/;
  await refused(own.authenticateApple("token"), 9, notConfigured);
  await refused(own.authenticateFacebook("token"), 9, notConfigured);
  await refused(own.authenticateFacebookInstantGame("player.info"), 9, notConfigured);
  await refused(own.authenticateGoogle("token"), 9, notConfigured);
  await refused(own.authenticateGameCenter("bundle", "player", "https://example.com/key", "salt", "sign", "1"), 9, notConfigured);
  await refused(own.authenticateSteam("ticket"), 9, notConfigured);
});

test("a wrong server key is rejected", async () => {
  await refused(client(server, "another").authenticateDevice(fresh("device")), 16, "Server key invalid");
});
