// Chat over the services socket, against a real server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { cut, idsOf, useSockets, usersOf } from "../support/sockets.mjs";
import { until } from "../support/until.mjs";

const server = serve();
const { opened, wired } = useSockets(server);
const textsOf = ({ messages }) => messages.map(({ content }) => content.text);
const textsSeen = ({ of }) => of("chat_message").map(({ message }) => message.content.text);

test("two users chat in a room: messages, edits, removals, members and the history", async () => {
  const name = randomUUID();
  const [ann, bob] = [await opened(), await opened()];
  const [one, other] = [await ann.socket.chat.joinRoom(name), await bob.socket.chat.joinRoom(name)];
  await until("both are members", () => one.members.length === 2 && other.members.length === 2);
  assert.deepEqual([usersOf(one), usersOf(other)], [idsOf(ann, bob), idsOf(ann, bob)]);
  const first = await one.send({ text: "hello" });
  const second = await one.send({ text: "again" });
  assert.deepEqual([first.sequence, second.sequence, first.isPersistent], [1, 2, true]);
  await one.edit(first.messageId, { text: "hello, everyone" });
  await one.remove(second.messageId);
  await until("both see the changes", () => [one, other].every((channel) => textsOf(channel).join() === "hello, everyone"));
  await assert.rejects(other.edit(first.messageId, { text: "mine" }));
  const { messages } = await other.history();
  assert.deepEqual([messages.map(({ content }) => content.text), messages[0].senderId], [["hello, everyone"], ann.userId]);
  await one.leave();
  await until("the other sees it", () => other.members.length === 1);
});

test("the history is read in pages, both ways", async () => {
  const { socket, client } = await opened();
  const channel = await socket.chat.joinRoom(randomUUID());
  for (let number = 1; number <= 5; number += 1) await channel.send({ text: String(number) });
  const pages = async (isForward) => {
    const found = [];
    let cursor;
    do {
      const page = await client.chat.list(channel.id, { limit: 2, isForward, ...(cursor !== undefined && { cursor }) });
      found.push(page.messages.map(({ sequence }) => sequence));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  };
  assert.deepEqual([await pages(true), await pages(false)], [[[1, 2], [3, 4], [5]], [[5, 4], [3, 2], [1]]]);
  const { cacheableCursor } = await client.chat.list(channel.id, { limit: 5 });
  await channel.send({ text: "6" });
  const newer = await client.chat.list(channel.id, { cursor: cacheableCursor, isForward: true });
  assert.deepEqual(newer.messages.map(({ sequence }) => sequence), [6]);
});

test("a member who was away sees what was missed, once and in order", async () => {
  const name = randomUUID();
  const [ann, bob] = [await wired(), await opened()];
  const [one, other] = [await ann.socket.chat.joinRoom(name), await bob.socket.chat.joinRoom(name)];
  const first = await other.send({ text: "first" });
  const second = await other.send({ text: "second" });
  await until("they arrived", () => one.messages.length === 2);
  const back = ann.socket.next("connected");
  ann.wire.cut();
  await ann.socket.next("lost");
  await other.edit(first.messageId, { text: "edited" });
  await other.remove(second.messageId);
  for (let number = 3; number <= 25; number += 1) await other.send({ text: `text ${number}` });
  assert.deepEqual((await back).notRestored, []);
  await other.send({ text: "last" });
  await until("all arrived", () => textsOf(one).at(-1) === "last");
  const expected = Array.from({ length: 23 }, (_, n) => `text ${n + 3}`);
  assert.deepEqual(textsSeen(ann), ["first", "second", ...expected, "last"]);
  assert.deepEqual(textsOf(one).slice(-24), [...expected, "last"]);
  await one.send({ text: "reply" });
  await until("the other sees it", () => textsOf(other).at(-1) === "reply");
});

test("direct chats have both users; messages that are not stored are not in the history", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const one = await ann.socket.chat.joinDirect(bob.userId, { isPersistent: false });
  await until("the other is invited", () => bob.of("notifications").some(({ notifications }) => notifications[0].code === -1));
  const other = await bob.socket.chat.joinDirect(ann.userId);
  assert.equal(one.id, other.id);
  const { sequence, isPersistent } = await one.send({ text: "fleeting" });
  await other.send({ text: "stored" });
  await until("both have both", () => textsOf(one).join() === "fleeting,stored" && textsOf(other).join() === "fleeting,stored");
  const { messages } = await one.history();
  assert.deepEqual([sequence, isPersistent, messages.map(({ content }) => content.text)], [0, false, ["stored"]]);
});

test("a restarted server keeps the chat", async () => {
  const name = randomUUID();
  const ann = await wired();
  const channel = await ann.socket.chat.joinRoom(name);
  await channel.send({ text: "before" });
  const back = ann.socket.next("connected");
  await server.kill();
  await server.start();
  await back;
  await channel.send({ text: "after" });
  await until("it continues", () => textsOf(channel).join() === "before,after");
  assert.deepEqual(channel.messages.map(({ sequence }) => sequence), [1, 2]);
  await cut(ann);
});
