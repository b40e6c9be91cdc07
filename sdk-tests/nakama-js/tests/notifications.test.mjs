// Notifications: live in both formats, stored, listed with a cursor that can be kept, deleted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, justNow, refused, send, serve, user } from "./server.mjs";
import { FORMATS, connect, leave, player, settled } from "./sockets.mjs";

const ADMIN_KEY = "a long key of the operator of these tests";
const server = serve(`http.admin_key=${ADMIN_KEY}`);

/** Sends a notification to a user: a friend request of a new user. Returns the sender. */
async function notify(to) {
  const sender = await user(server);
  await sender.client.addFriends(sender.session, [to.id]);
  return sender;
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: a notification reaches every socket of its user, as it is stored`, async () => {
    const ann = await player(server, adapter);
    const second = await connect(ann, adapter);
    const other = await player(server, adapter);
    const sender = await notify(ann);
    const live = await ann.notifications.next();
    assert.equal((await second.notifications.next()).id, live.id);
    const { notifications: [stored] } = await ann.client.listNotifications(ann.session, 1);
    for (const field of ["id", "subject", "code", "sender_id", "persistent"]) {
      assert.deepEqual(live[field], stored[field], field);
    }
    assert.deepEqual([live.content, stored.content], [{ username: sender.name }, { username: sender.name }]);
    // The protobuf adapter reads times without milliseconds.
    const time = ({ create_time }) => Math.floor(Date.parse(create_time) / 1000);
    assert.equal(time(live), time(stored));
    await settled(ann, other);
    assert.deepEqual([ann.notifications.length, other.notifications.length], [0, 0]);
    leave(ann, second, other);
  });

  test(`${format}: a banned user is told before the socket closes`, async () => {
    const ann = await player(server, adapter);
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const response = await fetch(`http://${server.adminAddress}/api/players/${ann.id}/ban`, { method: "POST", headers });
    assert.ok(response.ok, `${response.status} ${await response.text()}`);
    assert.equal((await ann.notifications.next()).code, -8);
    await ann.ends.next();
  });
}

test("a stored notification has every field in its format", async () => {
  const ann = await user(server);
  const sender = await notify(ann);
  await ann.client.listNotifications(ann.session);
  const { notifications: [{ id, create_time, ...rest }], cacheable_cursor } = answered();
  justNow(create_time);
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  assert.deepEqual(rest, {
    subject: `${sender.name} wants to add you as a friend`,
    content: JSON.stringify({ username: sender.name }),
    code: -2,
    sender_id: sender.id,
    persistent: true,
  });
  assert.ok(cacheable_cursor.length > 0);
});

test("a cursor can be kept, and continues after deletions", async () => {
  const ann = await user(server);
  const list = async (limit, cursor) => {
    const page = await ann.client.listNotifications(ann.session, limit, cursor);
    return [page.notifications.map(({ sender_id }) => sender_id), page.cacheable_cursor, page.notifications];
  };
  const [none, start] = await list(10);
  assert.deepEqual(none, []);
  const senders = [await notify(ann), await notify(ann), await notify(ann)].map(({ id }) => id);
  assert.deepEqual((await list(undefined))[0], [senders[0]], "one by default, the oldest");
  const [first, cursor, stored] = await list(2, start);
  assert.deepEqual(first, senders.slice(0, 2));
  assert.equal(await ann.client.deleteNotifications(ann.session, stored.map(({ id }) => id)), true);
  const [rest, last] = await list(100, cursor);
  assert.deepEqual(rest, [senders[2]]);
  assert.deepEqual((await list(100, last)).slice(0, 2), [[], last], "the given cursor comes back");
  const later = await notify(ann);
  assert.deepEqual((await list(100, last))[0], [later.id]);
  assert.deepEqual((await list(100))[0], [senders[2], later.id]);
});

test("only the owner deletes a notification", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await notify(ann);
  const { notifications: [{ id }] } = await ann.client.listNotifications(ann.session, 1);
  await bob.client.deleteNotifications(bob.session, [id]);
  assert.equal((await ann.client.listNotifications(ann.session, 1)).notifications.length, 1);
  await refused(ann.client.deleteNotifications(ann.session, ["no id"]), 3, "Invalid notification identifier. Send a UUID.");
  const many = Array.from({ length: 101 }, () => id);
  await refused(ann.client.deleteNotifications(ann.session, many), 3, "At most 100 notifications can be deleted at once.");
});

test("bad lists are refused", async () => {
  const ann = await user(server);
  for (const limit of [0, 101]) {
    const path = `/v2/notification?limit=${limit}`;
    assert.equal((await send(server, "GET", path, { token: ann.session.token })).status, 400);
    assert.equal(answered().message, "Invalid limit - limit must be between 1 and 100.");
  }
  await refused(ann.client.listNotifications(ann.session, 1, "nothing"), 3, "Cursor is invalid or expired.");
  assert.equal((await send(server, "GET", "/v2/notification")).status, 401);
});
