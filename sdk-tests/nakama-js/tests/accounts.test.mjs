// Accounts and users: reading, updating, deleting, linking.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, client, fresh, justNow, refused, serve, user } from "./server.mjs";

const server = serve();

test("an account has its set fields and omits the rest", async () => {
  const device = fresh("device");
  const own = client(server);
  const session = await own.authenticateDevice(device, true, fresh("ann"));
  const account = await own.getAccount(session);
  const { create_time, update_time, ...rest } = account.user;
  assert.deepEqual(rest, { id: session.user_id, username: session.username, lang_tag: "en", metadata: "{}" });
  justNow(create_time);
  justNow(update_time);
  assert.deepEqual(Object.keys(account).sort(), ["devices", "user", "wallet"]);
  assert.equal(account.wallet, "{}");
  assert.deepEqual(account.devices, [{ id: device }]);
});

test("an account that signed in by email shows the address", async () => {
  const own = client(server);
  const email = `${fresh("ann")}@example.com`;
  const account = await own.getAccount(await own.authenticateEmail(email, "correct horse"));
  assert.equal(account.email, email);
  assert.equal(account.devices, undefined);
});

test("an update changes the given fields only", async () => {
  const { client: own, session, name } = await user(server);
  const changes = { avatar_url: "https://example.com/a.png", display_name: "Änn", lang_tag: "de", location: "Bern", timezone: "Europe/Zurich" };
  assert.equal(await own.updateAccount(session, changes), true);
  assert.deepEqual(answered(), {});
  let shown = (await own.getAccount(session)).user;
  for (const [field, value] of Object.entries({ ...changes, username: name })) assert.equal(shown[field], value);

  await own.updateAccount(session, { username: `${name}-2`, display_name: "" });
  shown = (await own.getAccount(session)).user;
  assert.equal(shown.username, `${name}-2`);
  assert.equal(shown.display_name, undefined, "an empty string is set, and omitted");
  assert.equal(shown.location, "Bern");
});

test("an update beyond the limits or with a taken name is rejected", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await refused(ann.client.updateAccount(ann.session, { username: bob.name }), 6, "Username is already in use.");
  await refused(ann.client.updateAccount(ann.session, { username: "" }), 3);
  await refused(ann.client.updateAccount(ann.session, { display_name: "x".repeat(256) }), 3);
  await refused(ann.client.updateAccount(ann.session, { location: "a\u0000b" }), 3);
  assert.equal((await ann.client.getAccount(ann.session)).user.username, ann.name);
});

test("users are found by id and by username, each once", async () => {
  const [ann, bob, cyd] = [await user(server), await user(server), await user(server)];
  await cyd.client.updateAccount(cyd.session, { display_name: "Cyd" });
  const { users } = await ann.client.getUsers(ann.session, [bob.id, bob.id, ann.id], [bob.name, cyd.name]);
  assert.deepEqual(new Set(users.map((found) => found.id)), new Set([ann.id, bob.id, cyd.id]));
  assert.equal(users.length, 3);
  const shown = users.find((found) => found.id === cyd.id);
  assert.equal(shown.display_name, "Cyd");
  assert.deepEqual(shown.metadata, {});
  justNow(shown.create_time);
  const raw = answered().users.find((found) => found.id === bob.id);
  const fields = ["create_time", "id", "lang_tag", "metadata", "update_time", "username"];
  assert.deepEqual(Object.keys(raw).sort(), fields, "private fields are absent");
});

test("unknown users are omitted, and an invalid id is rejected", async () => {
  const { client: own, session } = await user(server);
  const nobody = "11111111-2222-4333-8444-555555555555";
  assert.deepEqual(await own.getUsers(session, [nobody], [fresh("nobody")]), { users: [] });
  assert.deepEqual(answered(), {}, "an empty list is omitted");
  assert.deepEqual(await own.getUsers(session), { users: [] });
  await refused(own.getUsers(session, ["no id"]), 3);
});

test("a deleted account loses its tokens and names", async () => {
  const [device, name] = [fresh("device"), fresh("ann")];
  const own = client(server);
  const session = await own.authenticateDevice(device, true, name);
  const other = await user(server);
  assert.equal(await own.deleteAccount(session), true);
  assert.deepEqual(answered(), {});
  await refused(own.getAccount(session), 16, "Auth token invalid");
  await refused(own.authenticateDevice(device, false), 5);
  assert.deepEqual(await other.client.getUsers(other.session, [session.user_id], [name]), { users: [] });
  const again = await own.authenticateDevice(device, true, name);
  assert.equal(again.created, true);
  assert.notEqual(again.user_id, session.user_id);
});

test("devices are linked and unlinked, except the last sign-in method", async () => {
  const { client: own, session, id } = await user(server);
  const [first] = (await own.getAccount(session)).devices;
  const second = fresh("device");
  assert.equal(await own.linkDevice(session, { id: second }), true);
  assert.equal(await own.linkDevice(session, { id: second }), true, "linking twice is harmless");
  assert.deepEqual((await own.getAccount(session)).devices, [first, { id: second }]);
  assert.equal((await client(server).authenticateDevice(second, false)).user_id, id);
  assert.equal(await own.unlinkDevice(session, first), true);
  await refused(client(server).authenticateDevice(first.id, false), 5);
  await refused(own.unlinkDevice(session, { id: second }), 7, /last account identifier/);
  assert.deepEqual((await own.getAccount(session)).devices, [{ id: second }]);
});

test("a custom id is linked and unlinked", async () => {
  const { client: own, session, id } = await user(server);
  const custom = fresh("custom");
  assert.equal(await own.linkCustom(session, { id: custom }), true);
  assert.equal((await own.getAccount(session)).custom_id, custom);
  assert.equal((await client(server).authenticateCustom(custom, false)).user_id, id);
  assert.equal(await own.unlinkCustom(session, { id: custom }), true);
  assert.equal((await own.getAccount(session)).custom_id, undefined);
});

test("an email address is linked and unlinked", async () => {
  const { client: own, session, id } = await user(server);
  const email = `${fresh("ann")}@example.com`;
  assert.equal(await own.linkEmail(session, { email, password: "correct horse" }), true);
  assert.equal((await own.getAccount(session)).email, email);
  assert.equal((await client(server).authenticateEmail(email, "correct horse", false)).user_id, id);
  assert.equal(await own.unlinkEmail(session, { email, password: "correct horse" }), true);
  assert.equal((await own.getAccount(session)).email, undefined);
});

test("an identity of another account is not linked", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const [custom, email] = [fresh("custom"), `${fresh("bob")}@example.com`];
  await bob.client.linkCustom(bob.session, { id: custom });
  await bob.client.linkEmail(bob.session, { email, password: "correct horse" });
  const [device] = (await bob.client.getAccount(bob.session)).devices;
  await refused(ann.client.linkDevice(ann.session, device), 6, "Device ID is already in use.");
  await refused(ann.client.linkCustom(ann.session, { id: custom }), 6, "Custom ID is already in use.");
  await refused(ann.client.linkEmail(ann.session, { email, password: "wrong horse" }), 6, "Email address is already in use.");
  await refused(ann.client.unlinkDevice(ann.session, device), 7);
});

test("providers that are not configured are neither linked nor unlinked", async () => {
  const { client: own, session } = await user(server);
  const gameCenter = { bundle_id: "b", player_id: "p", public_key_url: "https://example.com", salt: "s", signature: "s", timestamp_seconds: "1" };
  const calls = {
    Apple: { token: "t" },
    Facebook: { token: "t" },
    FacebookInstantGame: { signed_player_info: "a.b" },
    GameCenter: gameCenter,
    Google: { token: "t" },
    Steam: { token: "t" },
  };
  for (const [provider, proof] of Object.entries(calls)) {
    const link = provider === "Steam" ? { account: proof, sync: false } : proof;
    await refused(own[`link${provider}`](session, link), 9, /not configured/);
    await refused(own[`unlink${provider}`](session, proof), 9, /not configured/);
  }
});
