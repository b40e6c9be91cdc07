// Friends: every call, the notifications that follow, and blocks, in both formats.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, justNow, refused, send, serve, user } from "./server.mjs";
import { FORMATS, connect, leave, player, settled } from "./sockets.mjs";

const server = serve();

/** Returns the states of a user's friends by id. */
async function states({ client, session }) {
  const { friends } = await client.listFriends(session);
  return Object.fromEntries(friends.map(({ user: { id }, state }) => [id, state]));
}

/** Makes two users friends. */
async function befriend(one, other) {
  await one.client.addFriends(one.session, [other.id]);
  await other.client.addFriends(other.session, [one.id]);
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: an invite is announced, accepted and ended`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    assert.equal(await ann.client.addFriends(ann.session, [bob.id]), true);
    const request = await bob.notifications.next();
    assert.deepEqual([request.code, request.sender_id, request.content], [-2, ann.id, { username: ann.name }]);
    assert.match(request.subject, new RegExp(`^${ann.name} wants to add you`));
    assert.deepEqual([await states(ann), await states(bob)], [{ [bob.id]: 1 }, { [ann.id]: 2 }]);

    await bob.client.addFriends(bob.session, [], [ann.name]);
    assert.equal((await ann.notifications.next()).code, -3);
    assert.deepEqual([await states(ann), await states(bob)], [{ [bob.id]: 0 }, { [ann.id]: 0 }]);

    assert.equal(await ann.client.deleteFriends(ann.session, [bob.id]), true);
    assert.equal((await bob.notifications.next()).code, -9);
    assert.deepEqual([await states(ann), await states(bob)], [{}, {}]);
    leave(ann, bob);
  });

  test(`${format}: a blocked user sees no status, and invites nobody`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    await ann.socket.updateStatus("here");
    assert.equal((await bob.socket.followUsers([ann.id])).presences.length, 1);
    assert.equal(await ann.client.blockFriends(ann.session, [bob.id]), true);
    await ann.socket.updateStatus("still here");
    await settled(ann, bob);
    assert.equal(bob.statuses.length, 0, "the block ended the follow");
    assert.deepEqual((await bob.socket.followUsers([ann.id])).presences ?? [], []);
    await bob.client.addFriends(bob.session, [ann.id]);
    await settled(ann, bob);
    assert.equal(ann.notifications.length, 0, "the invite is ignored");
    assert.deepEqual([await states(ann), await states(bob)], [{ [bob.id]: 3 }, {}]);
    await refused(ann.client.addFriends(ann.session, [bob.id]), 9, /Delete the block first/);
    await ann.client.deleteFriends(ann.session, [bob.id]);
    assert.equal((await bob.socket.followUsers([ann.id])).presences.length, 1);
    leave(ann, bob);
  });

  test(`${format}: a party of a user who blocks looks as if it did not exist`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const { party_id } = await ann.socket.createParty(true, 4);
    await bob.client.blockFriends(bob.session, [], [ann.name]);
    const error = await bob.socket.joinParty(party_id).then(() => assert.fail("it joined"), (thrown) => thrown);
    const missing = await bob.socket.joinParty(party_id.replace(/^./, (first) => (first === "0" ? "1" : "0")))
      .then(() => assert.fail("it joined"), (thrown) => thrown);
    assert.deepEqual(error, { ...missing });
    leave(ann, bob);
  });

  test(`${format}: a friend with a socket is online`, async () => {
    const [ann, bob] = [await user(server), await user(server)];
    await befriend(ann, bob);
    const online = async () => (await ann.client.listFriends(ann.session)).friends[0].user.online ?? false;
    assert.equal(await online(), false);
    const connected = await connect(bob, adapter);
    assert.equal(await online(), true);
    leave(connected);
  });
}

test("a friend has every field in its format", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const metadata = encodeURIComponent(JSON.stringify({ note: "é" }));
  const path = `/v2/friend?ids=${bob.id}&metadata=${metadata}`;
  assert.equal((await send(server, "POST", path, { token: ann.session.token })).status, 200);
  assert.deepEqual(answered(), {});
  await ann.client.listFriends(ann.session);
  const [{ user: friend, update_time, ...rest }] = answered().friends;
  justNow(update_time);
  assert.deepEqual(rest, { state: 1, metadata: '{"note":"é"}' });
  assert.deepEqual([friend.id, friend.username, friend.edge_count], [bob.id, bob.name, 1]);
  assert.equal(answered().cursor, undefined, "the last page has no cursor");
  const account = await bob.client.getAccount(bob.session);
  assert.equal(account.user.edge_count, 1);
});

test("friends are listed by state and in pages", async () => {
  const ann = await user(server);
  const others = [await user(server), await user(server), await user(server)];
  for (const other of others.slice(0, 2)) await befriend(ann, other);
  await ann.client.blockFriends(ann.session, [others[2].id]);
  const first = await ann.client.listFriends(ann.session, undefined, 2);
  const second = await ann.client.listFriends(ann.session, undefined, 2, first.cursor);
  assert.deepEqual([...first.friends, ...second.friends].map(({ state }) => state), [0, 0, 3]);
  assert.equal(second.cursor, undefined);
  const blocked = await ann.client.listFriends(ann.session, 3, 100);
  assert.deepEqual(blocked.friends.map(({ user: { id } }) => id), [others[2].id]);
  await refused(ann.client.listFriends(ann.session, 4), 3, "Invalid state - a friend state is a number from 0 to 3.");
  await refused(ann.client.listFriends(ann.session, 0, 1001), 3, "Invalid limit - limit must be between 1 and 1000.");
  await refused(ann.client.listFriends(ann.session, 0, 10, first.cursor), 3, "Cursor is invalid or expired.");
});

test("friends of friends have a referrer, and leave out friends and blocked users", async () => {
  const [ann, bob, cid, dan] = [await user(server), await user(server), await user(server), await user(server)];
  await befriend(ann, bob);
  await befriend(bob, cid);
  await befriend(bob, dan);
  await dan.client.blockFriends(dan.session, [ann.id]);
  const { friends_of_friends: found } = await ann.client.listFriendsOfFriends(ann.session, 10);
  assert.deepEqual(found.map(({ referrer, user: { id } }) => [referrer, id]), [[bob.id, cid.id]]);
  await befriend(ann, cid);
  assert.deepEqual((await ann.client.listFriendsOfFriends(ann.session)).friends_of_friends, []);
  await refused(ann.client.listFriendsOfFriends(ann.session, 101), 3, "Invalid limit - limit must be between 1 and 100.");
});

test("bad requests are refused", async () => {
  const ann = await user(server);
  await refused(ann.client.addFriends(ann.session, [ann.id]), 3, "Cannot add self as friend.");
  await refused(ann.client.blockFriends(ann.session, [ann.id]), 3, "Cannot block self.");
  await refused(ann.client.addFriends(ann.session, [], ["nobody has this name"]), 3, "No valid ID or username was provided.");
  await refused(ann.client.addFriends(ann.session, ["no id"]), 3, "A user's ID must be a UUID.");
  const noProvider = /is not configured on this server/;
  await refused(ann.client.importFacebookFriends(ann.session, { token: "a token" }), 9, noProvider);
  await refused(ann.client.importSteamFriends(ann.session, { token: "0a" }, true), 9, noProvider);
  const response = await send(server, "GET", "/v2/friend");
  assert.equal(response.status, 401);
});

test("an erased account is nobody's friend", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await befriend(ann, bob);
  await bob.client.deleteAccount(bob.session);
  assert.deepEqual(await states(ann), {});
  const { user: { edge_count } } = await ann.client.getAccount(ann.session);
  assert.equal(edge_count ?? 0, 0);
  const { notifications } = await ann.client.listNotifications(ann.session, 100);
  assert.deepEqual(notifications, [], "its notifications are deleted too");
});
