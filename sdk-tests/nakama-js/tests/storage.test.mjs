// Storage: versions, permissions, batches and lists.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { answered, fresh, justNow, refused, send, serve, user } from "./server.mjs";

const server = serve();
const VERSION = "Storage write rejected - version check failed.";

test("an object is written, read and deleted", async () => {
  const { client: own, session, id } = await user(server);
  const value = { hp: 1, name: "é", list: [1, 2.5, null] };
  const { acks } = await own.writeStorageObjects(session, [{ collection: "saves", key: "one", value }]);
  const version = createHash("md5").update(JSON.stringify(value)).digest("hex");
  const { create_time, update_time, ...ack } = acks[0];
  assert.deepEqual(ack, { collection: "saves", key: "one", user_id: id, version });
  justNow(create_time);
  justNow(update_time);

  const { objects } = await own.readStorageObjects(session, { object_ids: [{ collection: "saves", key: "one", user_id: id }] });
  const [object] = objects;
  assert.deepEqual(object.value, value);
  const raw = answered().objects[0];
  assert.equal(typeof raw.value, "string", "JSON in a string");
  assert.deepEqual(raw, {
    collection: "saves", key: "one", user_id: id, value: JSON.stringify(value), version,
    permission_read: 1, permission_write: 1, create_time, update_time,
  });

  assert.equal(await own.deleteStorageObjects(session, { object_ids: [{ collection: "saves", key: "one" }] }), true);
  assert.deepEqual(answered(), {});
  const none = await own.readStorageObjects(session, { object_ids: [{ collection: "saves", key: "one", user_id: id }] });
  assert.deepEqual(none, { objects: [] });
  assert.deepEqual(answered(), {}, "an empty list is omitted");
  assert.equal(await own.deleteStorageObjects(session, { object_ids: [{ collection: "saves", key: "one" }] }), true, "deleting twice is harmless");
});

test("a version makes a write conditional", async () => {
  const { client: own, session } = await user(server);
  const write = async (value, version) => {
    const { acks } = await own.writeStorageObjects(session, [{ collection: "saves", key: "k", value, version }]);
    return acks[0].version;
  };
  const first = await write({ n: 1 }, "*");
  await refused(write({ n: 2 }, "*"), 3, VERSION);
  const second = await write({ n: 2 }, first);
  assert.notEqual(second, first);
  await refused(write({ n: 3 }, first), 3, VERSION);
  const third = await write({ n: 3 });
  await refused(own.deleteStorageObjects(session, { object_ids: [{ collection: "saves", key: "k", version: second }] }), 3, /version check failed/);
  assert.equal(await own.deleteStorageObjects(session, { object_ids: [{ collection: "saves", key: "k", version: third }] }), true);
  await refused(write({ n: 4 }, third), 3, VERSION);
});

test("a batch is written completely or not at all, and answered in order", async () => {
  const { client: own, session, id } = await user(server);
  const keys = ["c", "a", "b"];
  const { acks } = await own.writeStorageObjects(session, keys.map((key) => ({ collection: "batch", key, value: { key } })));
  assert.deepEqual(acks.map((ack) => ack.key), keys);
  const spoilt = [{ collection: "batch", key: "d", value: {} }, { collection: "batch", key: "a", value: {}, version: "*" }];
  await refused(own.writeStorageObjects(session, spoilt), 3, VERSION);
  const ids = ["d", "b", "a"].map((key) => ({ collection: "batch", key, user_id: id }));
  const { objects } = await own.readStorageObjects(session, { object_ids: ids });
  assert.deepEqual(objects.map((object) => [object.key, object.value]), [["b", { key: "b" }], ["a", { key: "a" }]]);
});

test("permissions control reads and writes", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const object = (key, permission_read, permission_write) => ({ collection: "permits", key, value: { key }, permission_read, permission_write });
  const objects = [object("nobody", 0, 0), object("owner", 1, 0), object("everyone", 2, 1)];
  await ann.client.writeStorageObjects(ann.session, objects);
  const ids = objects.map(({ collection, key }) => ({ collection, key, user_id: ann.id }));
  const read = async ({ client, session }) => (await client.readStorageObjects(session, { object_ids: ids })).objects.map((found) => found.key);
  assert.deepEqual(await read(ann), ["owner", "everyone"]);
  assert.deepEqual(await read(bob), ["everyone"]);
  const shown = answered().objects[0];
  assert.deepEqual([shown.permission_read, shown.permission_write], [2, 1]);
  await refused(ann.client.writeStorageObjects(ann.session, [object("owner", 1, 1)]), 7, /permission denied/);
  await refused(ann.client.deleteStorageObjects(ann.session, { object_ids: [{ collection: "permits", key: "nobody" }] }), 7, /permission denied/);
  await refused(ann.client.writeStorageObjects(ann.session, [object("odd", 3, 1)]), 3);
});

test("objects of other users are not accessible", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await ann.client.writeStorageObjects(ann.session, [{ collection: "mine", key: "k", value: { secret: 1 } }]);
  const id = { collection: "mine", key: "k", user_id: ann.id };
  assert.deepEqual(await bob.client.readStorageObjects(bob.session, { object_ids: [id] }), { objects: [] });
  assert.deepEqual((await bob.client.listStorageObjects(bob.session, "mine", ann.id, 10)).objects, []);
  await bob.client.deleteStorageObjects(bob.session, { object_ids: [{ ...id }] });
  await bob.client.writeStorageObjects(bob.session, [{ ...id, value: { secret: 2 } }]);
  const { objects } = await ann.client.readStorageObjects(ann.session, { object_ids: [id] });
  assert.deepEqual(objects[0].value, { secret: 1 }, "the owner in a write is ignored: users write their own objects");
});

test("a list continues from its cursor and shows readable objects", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const collection = fresh("list");
  const objects = Array.from({ length: 25 }, (_, n) => ({
    collection, key: `k${String(n).padStart(2, "0")}`, value: { n }, permission_read: n % 5 === 0 ? 2 : 1,
  }));
  await ann.client.writeStorageObjects(ann.session, objects);
  const keys = [];
  let cursor;
  let pages = 0;
  do {
    const page = await ann.client.listStorageObjects(ann.session, collection, ann.id, 10, cursor);
    keys.push(...page.objects.map((object) => object.key));
    cursor = page.cursor;
    pages += 1;
  } while (cursor);
  assert.equal(pages, 3);
  assert.deepEqual(keys, objects.map((object) => object.key));
  assert.deepEqual(Object.keys(answered()), ["objects"], "no cursor at the end");
  const seen = await bob.client.listStorageObjects(bob.session, collection, ann.id, 100);
  assert.deepEqual(seen.objects.map((object) => object.value.n), [0, 5, 10, 15, 20]);
  const everyones = await bob.client.listStorageObjects(bob.session, collection, undefined, 100);
  assert.equal(everyones.objects.length, 5);
  assert.equal((await ann.client.listStorageObjects(ann.session, collection, ann.id)).objects.length, 1, "one by default");
});

test("the owner of a list may be in the path", async () => {
  const { client: own, session, id } = await user(server);
  await own.writeStorageObjects(session, [{ collection: "saves", key: "k", value: {} }]);
  const response = await send(server, "GET", `/v2/storage/saves/${id}?limit=10&`, { token: session.token });
  assert.equal(response.status, 200);
  assert.deepEqual(answered().objects.map((object) => object.key), ["k"]);
});

test("invalid limits and cursors are rejected", async () => {
  const { client: own, session, id } = await user(server);
  await refused(own.listStorageObjects(session, "saves", id, 101), 3, /[Ll]imit/);
  await refused(own.listStorageObjects(session, "saves", id, 0), 3, /[Ll]imit/);
  await refused(own.listStorageObjects(session, "saves", id, 10, "no cursor"), 3, /[Cc]ursor/);
  await refused(own.listStorageObjects(session, "saves", "no id", 10), 3);
});

test("invalid, unnamed and oversized objects are rejected", async () => {
  const { client: own, session } = await user(server);
  const write = (object) => own.writeStorageObjects(session, [{ collection: "saves", key: "k", value: {}, ...object }]);
  await refused(write({ value: [1] }), 3, /JSON object/);
  await refused(write({ value: 1 }), 3, /JSON object/);
  await refused(write({ collection: "" }), 3, /Collection/);
  await refused(write({ key: "" }), 3, /Key/);
  await refused(write({ key: "x".repeat(129) }), 3, /Key/);
  await refused(write({ key: "a\u0000b" }), 3);
  await refused(own.writeStorageObjects(session, Array.from({ length: 129 }, (_, n) => ({ collection: "c", key: `${n}`, value: {} }))), 3);
  await refused(write({ value: { text: "x".repeat(300_000) } }), 3, /at most 262144 bytes/);
});
