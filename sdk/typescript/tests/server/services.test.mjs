// Services, against a real server with a database file.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { Client, AetherError, memoryStore } from "../../dist/index.js";
import { until } from "../support/until.mjs";

const server = serve("tokens.access_seconds=60", "api.open_leaderboards=open");
const client = (options = {}) => new Client({ url: server.url, ...options });
const fresh = (word) => `${word}-${randomUUID()}`;

/** Returns code and status of a rejected call. */
async function refused(call) {
  const error = await call.then(
    () => assert.fail("it was not refused"),
    (thrown) => thrown,
  );
  assert.ok(error instanceof AetherError, String(error));
  assert.ok(error.message.length > 0);
  return [error.code, error.status];
}

async function visitor() {
  const own = client();
  const identity = await own.session.visit();
  return { own, ...identity };
}

test("a visitor is the same user again, also after a server restart", async () => {
  const store = memoryStore();
  const first = await client({ store }).session.visit();
  assert.equal(first.isNew, true);
  await server.stop();
  await server.start();
  const again = client({ store });
  assert.equal((await again.session.visit()).userId, first.userId);
  assert.equal((await again.account.read()).user.id, first.userId);
});

test("signing in by email, username and custom id", async () => {
  const [own, name, email] = [client(), fresh("ann"), `${fresh("ann")}@example.com`];
  const made = await own.session.signIn({ email, password: "correct horse" }, { username: name, variables: { level: "2" } });
  assert.deepEqual([made.username, made.isNew, made.variables], [name, true, { level: "2" }]);
  const byName = await client().session.signIn({ username: name, password: "correct horse" });
  assert.deepEqual([byName.userId, byName.isNew], [made.userId, false]);
  assert.deepEqual(await refused(client().session.signIn({ email, password: "wrong horse" })), ["unauthenticated", 401]);
  assert.deepEqual(await refused(client().session.signIn({ custom: fresh("custom") }, { create: false })), ["not_found", 404]);
  const custom = fresh("custom");
  await own.account.link({ custom });
  assert.equal((await client().session.signIn({ custom })).userId, made.userId);
  await own.account.unlink({ custom });
  assert.deepEqual(await refused(client().session.signIn({ external: "nobody", token: "t" })), ["failed_precondition", 400]);
  assert.deepEqual(await refused(client({ serverKey: "wrong" }).session.visit()), ["unauthenticated", 401]);
});

test("sessions are renewed and ended", async () => {
  const { own, userId } = await visitor();
  const before = await own.session.token();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await own.session.refresh();
  assert.notEqual(await own.session.token(), before);
  await own.session.logOut();
  assert.deepEqual(await refused(own.account.read()), ["signed_out", 0]);
  assert.equal((await own.session.visit()).userId, userId, "the device id is still known");
});

test("a visitor whose session was ended elsewhere is signed in again", async () => {
  const store = memoryStore();
  const [one, other] = [client({ store }), client()];
  const { userId } = await one.session.visit();
  await other.session.signIn({ device: await one.session.deviceId() });
  await other.session.logOut({ everywhere: true });
  assert.equal((await one.account.read()).user.id, userId);
});

test("an account is read, changed and deleted", async () => {
  const { own, userId, username } = await visitor();
  await own.account.update({ displayName: "Ann É", location: "here", timezone: "Europe/Berlin" });
  const { user, wallet, deviceIds, email } = await own.account.read();
  assert.deepEqual([user.id, user.username, user.displayName, user.location], [userId, username, "Ann É", "here"]);
  assert.deepEqual([wallet, email, deviceIds], [{}, undefined, [await own.session.deviceId()]]);
  assert.ok(Math.abs(user.createdAt - Date.now()) < 60_000);
  const other = await visitor();
  const users = await other.own.account.users({ ids: [userId], usernames: [other.username] });
  assert.deepEqual(new Set(users.map((found) => found.id)), new Set([userId, other.userId]));
  await own.account.delete();
  assert.deepEqual(await other.own.account.users({ ids: [userId] }), []);
});

test("objects are written, read, listed and deleted", async () => {
  const [ann, bob] = [await visitor(), await visitor()];
  const collection = fresh("saves é/");
  const value = { level: 3, name: "É", list: [1, 2.5, null] };
  const written = await ann.own.storage.write(collection, "one", value);
  const found = await ann.own.storage.read(collection, "one");
  assert.deepEqual(found.value, value);
  assert.deepEqual([found.version, found.userId, found.read, found.write], [written.version, ann.userId, "owner", "owner"]);
  assert.equal(await ann.own.storage.read(collection, "two"), undefined);
  assert.equal(await bob.own.storage.read(collection, "one", { userId: ann.userId }), undefined);

  assert.deepEqual(await refused(ann.own.storage.write(collection, "one", {}, { version: "*" })), ["invalid_argument", 400]);
  await ann.own.storage.write(collection, "one", { level: 4 }, { version: written.version, read: "everyone", write: "nobody" });
  const shown = await bob.own.storage.read(collection, "one", { userId: ann.userId });
  assert.deepEqual([shown.value, shown.read, shown.write], [{ level: 4 }, "everyone", "nobody"]);
  assert.deepEqual(await refused(ann.own.storage.write(collection, "one", {})), ["permission_denied", 403]);

  await bob.own.storage.writeAll(Array.from({ length: 25 }, (_, n) => ({ collection, key: `k${10 + n}`, value: { n } })));
  const keys = [];
  for await (const object of bob.own.storage.all(collection, { userId: bob.userId, limit: 10 })) keys.push(object.value.n);
  assert.deepEqual(keys, Array.from({ length: 25 }, (_, n) => n));
  await bob.own.storage.delete(collection, "k10");
  await bob.own.storage.delete(collection, "k10");
  assert.equal((await bob.own.storage.list(collection, { userId: bob.userId })).objects.length, 24);
});

test("64-bit scores are exact and ranked", async () => {
  const [ann, bob] = [await visitor(), await visitor()];
  const best = 9_007_199_254_740_993n;
  const record = await ann.own.leaderboard.write("open", { score: best, subscore: 7, metadata: { map: "é" } });
  assert.deepEqual([record.score, record.subscore, record.writes, record.metadata], [best, 7n, 1, { map: "é" }]);
  await bob.own.leaderboard.write("open", { score: 10 });
  const more = await bob.own.leaderboard.write("open", { score: 5, operator: "increment" });
  assert.deepEqual([more.score, more.writes], [15n, 2]);
  const page = await bob.own.leaderboard.list("open", { limit: 1, ownerIds: [bob.userId, ann.userId] });
  assert.deepEqual(page.records.map((found) => [found.ownerId, found.rank]), [[ann.userId, 1]]);
  assert.deepEqual(page.ownerRecords.map((found) => found.ownerId), [bob.userId, ann.userId]);
  assert.equal(page.rankCount, 2);
  const next = await bob.own.leaderboard.list("open", { limit: 1, cursor: page.nextCursor });
  assert.equal(next.records[0].ownerId, bob.userId);
  assert.equal((await bob.own.leaderboard.around("open", { limit: 3 })).records.length, 2);
  await ann.own.leaderboard.delete("open");
  assert.equal((await bob.own.leaderboard.around("open")).records[0].rank, 1);
  assert.deepEqual(await refused(ann.own.leaderboard.write("no such board", { score: 1 })), ["not_found", 404]);
});

test("profiles are created, selected and deleted", async () => {
  const { own } = await visitor();
  const knight = await own.profiles.create({ name: "Knight", data: { class: "knight" } });
  assert.deepEqual(knight.data, { class: "knight" });
  const mage = await own.profiles.create({ id: "mage", name: "Mage" });
  await own.profiles.select("mage");
  await own.profiles.update("mage", { data: { class: "mage", level: 2 } });
  const all = await own.profiles.list();
  assert.deepEqual(all.find((profile) => profile.isActive).id, mage.id);
  assert.deepEqual(all.find((profile) => profile.id === "mage").data, { class: "mage", level: 2 });
  const active = await own.profiles.delete("mage");
  assert.notEqual(active, "mage");
});

test("events are accepted, and shops that are not configured are rejected", async () => {
  const { own } = await visitor();
  await own.events.emit({ name: "level_up", properties: { level: "3" }, at: new Date() });
  assert.deepEqual(await refused(own.events.emit({ name: "" })), ["invalid_argument", 400]);
  for (const receipt of [{ shop: "apple", receipt: "r" }, { shop: "google", receipt: "{}" }, { shop: "huawei", receipt: "{}", signature: "s" }]) {
    assert.deepEqual(await refused(own.purchases.validate(receipt)), ["failed_precondition", 400]);
  }
  assert.deepEqual(await own.purchases.subscriptions(), { subscriptions: [], cursor: undefined });
  assert.deepEqual(await refused(own.purchases.subscription("none")), ["not_found", 404]);
});

test("the server returns its info and guest tokens", async () => {
  const own = client();
  const info = await own.server.info();
  assert.equal(info.protocol, 2);
  assert.ok(info.roomTypes.some((type) => type.name === "sandbox" && type.tickHz === 40));
  assert.match(info.webTransport.certificateHash, /^[\w+/]{43}=$/);
  assert.ok(Array.isArray(await own.server.rooms({ type: "sandbox" })));
  const guest = await own.server.guest();
  assert.ok(guest.expiresAt > new Date());
  assert.equal(guest.role, "player");
  assert.equal((await own.server.guest({ developerSecret: server.developerSecret })).role, "developer");
});

test("an unreachable server is retried for a while", async () => {
  const { own, userId } = await visitor();
  await server.stop();
  const reading = own.account.read();
  await server.start();
  assert.equal((await reading).user.id, userId);
  await server.stop();
  assert.deepEqual(await refused(client({ timeoutMs: 400 }).server.info()), ["timed_out", 0]);
  assert.deepEqual(await refused(own.events.emit({ name: "gone" })), ["unreachable", 0]);
  await server.start();
  await until("it is back", () => own.server.info().then(() => true, () => false));
});
