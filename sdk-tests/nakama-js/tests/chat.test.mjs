// Chat: every message of a channel in both formats, and the history over HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fresh, refused, send, serve } from "./server.mjs";
import { FORMATS, leave, player, rejected, settled, users } from "./sockets.mjs";

const server = serve();

/** Types of channels. */
const [ROOM, DIRECT, GROUP] = [1, 2, 3];

/** Joins a new room with all players, and reads the events of their joins. */
async function room(...players) {
  const name = fresh("room");
  let channel;
  for (const [index, member] of players.entries()) {
    channel = await member.socket.joinChat(name, ROOM, true, false);
    for (const other of players.slice(0, index + 1)) {
      assert.deepEqual(users((await other.channelPresences.next()).joins), [member.id]);
    }
  }
  return { name, id: channel.id };
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: members of a room see each other come, talk and go`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const name = fresh("room");
    const first = await ann.socket.joinChat(name, ROOM, true, false);
    assert.deepEqual([first.id, first.room_name, first.self.user_id], [`2...${name}`, name, ann.id]);
    assert.deepEqual(users(first.presences ?? []), []);
    const second = await bob.socket.joinChat(name, ROOM, true, false);
    assert.deepEqual(users(second.presences), [ann.id]);
    await ann.channelPresences.next();
    const event = await ann.channelPresences.next();
    assert.deepEqual([event.channel_id, event.room_name, users(event.joins)], [first.id, name, [bob.id]]);

    const ack = await bob.socket.writeChatMessage(first.id, { hello: "world" });
    assert.deepEqual([ack.channel_id, ack.code ?? 0, ack.username], [first.id, 0, bob.name]);
    assert.equal(ack.persistent, true);
    for (const member of [ann, bob]) {
      const message = await member.channelMessages.next();
      assert.deepEqual([message.message_id, message.sender_id, message.room_name], [ack.message_id, bob.id, name]);
      assert.deepEqual(message.content, { hello: "world" });
    }

    await bob.socket.leaveChat(first.id);
    assert.deepEqual(users((await ann.channelPresences.next()).leaves), [bob.id]);
    await rejected(bob.socket.writeChatMessage(first.id, {}), 3, /^Must join channel/);
    leave(ann, bob);
  });

  test(`${format}: a sender changes and removes a message`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const { id } = await room(ann, bob);
    const sent = await ann.socket.writeChatMessage(id, { text: "frist" });
    await bob.channelMessages.next();
    const changed = await ann.socket.updateChatMessage(id, sent.message_id, { text: "first" });
    assert.deepEqual([changed.message_id, changed.code], [sent.message_id, 1]);
    const seen = await bob.channelMessages.next();
    assert.deepEqual([seen.message_id, seen.code, seen.content], [sent.message_id, 1, { text: "first" }]);
    await rejected(bob.socket.updateChatMessage(id, sent.message_id, { text: "mine" }), 3, /of another user/);
    await rejected(bob.socket.removeChatMessage(id, sent.message_id), 3, /of another user/);
    assert.equal((await ann.socket.removeChatMessage(id, sent.message_id)).code, 2);
    assert.equal((await bob.channelMessages.next()).code, 2);
    const { messages } = await ann.client.listChannelMessages(ann.session, id, 10, true);
    assert.deepEqual(messages, []);
    leave(ann, bob);
  });

  test(`${format}: two users talk directly, and the absent one is notified`, async () => {
    const [ann, bob, eve] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const channel = await ann.socket.joinChat(bob.id, DIRECT, true, false);
    const [one, two] = [ann.id, bob.id].sort();
    assert.deepEqual([channel.id, channel.user_id_one, channel.user_id_two], [`4.${one}.${two}.`, one, two]);
    const invitation = await bob.notifications.next();
    assert.deepEqual([invitation.code, invitation.sender_id], [-1, ann.id]);
    assert.equal((await bob.socket.joinChat(ann.id, DIRECT, true, false)).id, channel.id);
    await bob.socket.writeChatMessage(channel.id, { text: "psst" });
    assert.deepEqual((await ann.channelMessages.next()).content, { text: "psst" });
    await rejected(eve.socket.writeChatMessage(channel.id, {}), 3, /^Must join channel/);
    await rejected(ann.socket.joinChat(ann.id, DIRECT, true, false), 3, /with self/);
    await settled(ann, bob);
    leave(ann, bob, eve);
  });

  test(`${format}: members of a group chat, and see who comes and goes`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const group = await ann.client.createGroup(ann.session, { name: fresh("group"), open: true });
    const channel = await ann.socket.joinChat(group.id, GROUP, true, false);
    assert.deepEqual([channel.id, channel.group_id], [`3.${group.id}..`, group.id]);
    await rejected(bob.socket.joinChat(group.id, GROUP, true, false), 3, /^Only members/);
    await bob.client.joinGroup(bob.session, group.id);
    const joined = await ann.channelMessages.next();
    assert.deepEqual([joined.code, joined.sender_id, joined.group_id], [3, bob.id, group.id]);
    await bob.socket.joinChat(group.id, GROUP, true, false);
    await bob.socket.writeChatMessage(channel.id, { text: "hello" });
    assert.deepEqual((await ann.channelMessages.next()).content, { text: "hello" });
    await bob.client.leaveGroup(bob.session, group.id);
    assert.equal((await ann.channelMessages.next()).code, 5);
    await rejected(bob.socket.writeChatMessage(channel.id, {}), 3, /^Must join channel/);
    leave(ann, bob);
  });

  test(`${format}: a hidden member and a message that is not stored`, async () => {
    const [ann, ghost] = [await player(server, adapter), await player(server, adapter)];
    const { name, id } = await room(ann);
    await ghost.socket.joinChat(name, ROOM, false, true);
    const ack = await ghost.socket.writeChatMessage(id, { text: "boo" });
    assert.equal(ack.persistent ?? false, false);
    assert.deepEqual((await ann.channelMessages.next()).content, { text: "boo" });
    assert.equal(ann.channelPresences.length, 0, "nobody saw it come");
    const { messages } = await ann.client.listChannelMessages(ann.session, id, 10, true);
    assert.deepEqual(messages, []);
    leave(ann, ghost);
  });
}

test("the history is listed in both directions with cursors", async () => {
  const ann = await player(server, FORMATS[0][1]);
  const { id } = await room(ann);
  for (let number = 1; number <= 5; number += 1) await ann.socket.writeChatMessage(id, { number });
  const numbers = ({ messages }) => messages.map(({ content }) => content.number);
  const list = (limit, forward, cursor) => ann.client.listChannelMessages(ann.session, id, limit, forward, cursor);
  const first = await list(3, true);
  assert.deepEqual(numbers(first), [1, 2, 3]);
  const second = await list(3, true, first.next_cursor);
  assert.deepEqual(numbers(second), [4, 5]);
  assert.deepEqual(numbers(await list(3, true, second.prev_cursor)), [1, 2, 3]);
  assert.deepEqual(numbers(await list(2, false)), [5, 4]);
  await ann.socket.writeChatMessage(id, { number: 6 });
  assert.deepEqual(numbers(await list(10, true, second.cacheable_cursor)), [6]);
  await refused(list(101, true), 3, /limit/);
  leave(ann);
});

test("messages carry their number in the channel, without gaps", async () => {
  const ann = await player(server, FORMATS[0][1]);
  const { id } = await room(ann);
  for (let number = 1; number <= 3; number += 1) {
    const ack = await ann.socket.writeChatMessage(id, { number });
    assert.deepEqual([ack.sequence, (await ann.channelMessages.next()).sequence], [String(number), String(number)]);
  }
  const answer = await send(server, "GET", `/v2/channel/${id}?limit=10`, { token: ann.session.token });
  assert.deepEqual((await answer.json()).messages.map(({ sequence }) => sequence), ["1", "2", "3"]);
  leave(ann);
});
