// Chat over the services socket: messages once and in order, gaps, and the restoration after a lost connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocketNetwork, outcome, shown, wire } from "../support/socket_network.mjs";
import { settled } from "../support/time.mjs";

const ROOM = "2...lobby";

/** Message of the server. Its content and id follow from its sequence. */
const message = (sequence, more = {}) => ({
  channel_id: ROOM,
  message_id: `m${sequence}`,
  sender_id: "bob",
  username: "bob",
  content: JSON.stringify({ text: `text ${sequence}` }),
  create_time: "2026-01-01T00:00:00Z",
  update_time: "2026-01-01T00:00:00Z",
  persistent: true,
  ...(sequence > 0 && { sequence: String(sequence) }),
  ...more,
});
const edited = (sequence, text, seconds = 1) =>
  message(sequence, { code: 1, content: JSON.stringify({ text }), update_time: `2026-01-01T00:00:0${seconds}Z` });
const removed = (sequence) => message(sequence, { code: 2, content: "{}" });

/** History of a channel that the test changes, served in pages from the newest message on. */
class Stored {
  messages = [];

  add(...sequences) {
    this.messages.push(...sequences.map((sequence) => message(sequence)));
  }

  answer = ({ query }) => {
    const newest = [...this.messages].reverse();
    const start = Number(query.cursor ?? 0);
    const messages = newest.slice(start, start + query.limit);
    const end = start + messages.length;
    return { messages, ...(end < newest.length && { next_cursor: String(end) }) };
  };
}

/** Joins the room with the given history. */
async function inRoom(sequences = [], options = {}) {
  const network = new SocketNetwork();
  const stored = new Stored();
  stored.add(...sequences);
  network.history = stored.answer;
  network.answers.channel_join = () => ({ channel: { id: ROOM, presences: [wire("bob")], self: wire("ann"), room_name: "lobby" } });
  network.answers.channel_leave = () => ({});
  const socket = await network.connected();
  const channel = await socket.chat.joinRoom("lobby", options);
  return { network, stored, socket, channel };
}

/** Sends live messages to the player. */
async function live(network, ...messages) {
  for (const each of messages) network.peer.say({ channel_message: each });
  await settled();
}

const numbers = (messages) => messages.map(({ sequence }) => sequence);
const delivered = (network) => network.of("chat_message").map(({ message: { sequence } }) => sequence);
const texts = (channel) => channel.messages.map(({ content }) => content.text);

test("rooms, groups and direct chats are joined with their options", async () => {
  const network = new SocketNetwork();
  network.answers.channel_join = ({ target, type }) => ({ channel: { id: `${type}.${target}`, self: wire("ann") } });
  const socket = await network.connected();
  const room = await socket.chat.joinRoom("lobby");
  const group = await socket.chat.joinGroup("g1", { isPersistent: false, isHidden: true });
  const direct = await socket.chat.joinDirect("bob");
  assert.deepEqual(network.peer.of("channel_join").map(({ fields }) => fields), [
    { target: "lobby", type: 1, persistence: true, hidden: false },
    { target: "g1", type: 3, persistence: false, hidden: true },
    { target: "bob", type: 2, persistence: true, hidden: false },
  ]);
  assert.deepEqual([room, group, direct].map(({ kind, target }) => [kind, target]), [["room", "lobby"], ["group", "g1"], ["direct", "bob"]]);
  assert.deepEqual(socket.chat.all, [room, group, direct]);
  assert.equal(await socket.chat.joinRoom("lobby"), room, "a channel is joined once");
});

test("earlier messages are there when the channel is joined, and later ones follow once", async () => {
  const { network, channel } = await inRoom([1, 2, 3], { backlog: 2 });
  assert.deepEqual(network.asked[0].query, { limit: 2, forward: false, cursor: undefined });
  assert.deepEqual([network.asked[0].path, numbers(channel.messages)], ["/v2/channel/2...lobby", [2, 3]]);
  await live(network, message(3), message(4), message(4), message(5));
  assert.deepEqual([delivered(network), numbers(channel.messages)], [[4, 5], [2, 3, 4, 5]]);
  assert.equal(network.asked.length, 1);
  const { message: last } = network.of("chat_message").at(-1);
  assert.deepEqual([last.id, last.kind, last.senderId, last.content, last.isPersistent, last.sequence], ["m5", "chat", "bob", { text: "text 5" }, true, 5]);
});

test("live messages wait for the history of a join", async () => {
  const network = new SocketNetwork();
  let answer;
  network.history = () => new Promise((resolve) => (answer = resolve));
  const socket = await network.connected();
  const joining = outcome(socket.chat.joinRoom("lobby"));
  network.peer.answer("channel_join", { channel: { id: ROOM, self: wire("ann") } });
  await live(network, message(2), message(3));
  assert.deepEqual([joining.value, delivered(network)], [undefined, []]);
  answer({ messages: [message(2), message(1)] });
  await settled();
  assert.deepEqual([numbers(joining.value.messages), delivered(network)], [[1, 2, 3], [3]]);
});

test("messages are sent, edited and removed", async () => {
  const { network, channel } = await inRoom();
  const ack = { channel_id: ROOM, message_id: "m1", create_time: "2026-01-01T00:00:00Z", update_time: "2026-01-01T00:00:01Z", persistent: true, sequence: "1" };
  for (const name of ["channel_message_send", "channel_message_update", "channel_message_remove"]) network.answers[name] = () => ({ channel_message_ack: ack });
  const receipt = await channel.send({ text: "hi" });
  assert.deepEqual([receipt.messageId, receipt.sequence, receipt.isPersistent, receipt.updatedAt.getUTCSeconds()], ["m1", 1, true, 1]);
  await channel.edit("m1", { text: "ho" });
  await channel.remove("m1");
  assert.deepEqual(network.peer.sent.slice(-3).map(({ name, fields }) => [name, fields]), [
    ["channel_message_send", { channel_id: ROOM, content: '{"text":"hi"}' }],
    ["channel_message_update", { channel_id: ROOM, message_id: "m1", content: '{"text":"ho"}' }],
    ["channel_message_remove", { channel_id: ROOM, message_id: "m1" }],
  ]);
});

test("edits and removals change known messages, and are reported for others too", async () => {
  const { network, channel } = await inRoom([1, 2, 3], { backlog: 2 });
  await live(network, edited(2, "new"), edited(1, "older"), removed(3));
  assert.deepEqual([texts(channel), channel.messages[0].kind], [["new"], "chat"]);
  assert.deepEqual(network.of("chat_edited").map(({ message: { id, content } }) => [id, content.text]), [["m2", "new"], ["m1", "older"]]);
  assert.deepEqual(network.of("chat_removed").map(({ message: { id } }) => id), ["m3"]);
  assert.equal(network.asked.length, 1, "an edit is no gap");
});

test("a gap in the live messages is filled from the history, in order", async () => {
  const { network, stored, channel } = await inRoom([1]);
  stored.add(2, 3, 4);
  await live(network, message(4));
  assert.deepEqual([delivered(network), numbers(channel.messages)], [[2, 3, 4], [1, 2, 3, 4]]);
  await live(network, message(5));
  assert.deepEqual([delivered(network), network.asked.length], [[2, 3, 4, 5], 2]);
});

test("messages that arrive while a gap is filled follow it", async () => {
  const { network, stored } = await inRoom([1]);
  let answer;
  network.history = () => new Promise((resolve) => (answer = resolve));
  await live(network, message(3), message(4), message(0, { message_id: "fleeting", persistent: false }));
  assert.deepEqual(delivered(network), []);
  stored.add(2, 3);
  answer({ messages: [message(3), message(2), message(1)] });
  await settled();
  assert.deepEqual(delivered(network), [2, 3, 4, 0]);
});

test("removed messages leave no gap that is read again and again", async () => {
  const { network, stored } = await inRoom([1]);
  stored.add(4);
  await live(network, message(4));
  await live(network, message(5));
  assert.deepEqual([delivered(network), network.asked.length], [[4, 5], 2]);
  // The message that showed the gap was removed before the history was read.
  stored.messages = [message(1)];
  await live(network, message(9), removed(9), message(10));
  assert.deepEqual([delivered(network), network.asked.length], [[4, 5, 10], 3]);
});

test("a gap of several pages is read page by page; a larger one is reported", async () => {
  const { network, stored, channel } = await inRoom([1]);
  const upTo = (first, last) => Array.from({ length: last - first + 1 }, (_, n) => first + n);
  stored.add(...upTo(2, 250));
  await live(network, message(250));
  assert.deepEqual([delivered(network), network.asked.slice(1).map(({ query }) => query.cursor)], [upTo(2, 250), [undefined, "100", "200"]]);
  assert.deepEqual([channel.messages.length, channel.messages.at(-1).sequence], [200, 250]);
  stored.add(...upTo(251, 2_000));
  await live(network, message(2_000));
  const [{ after, before, error }] = network.of("chat_gap");
  assert.deepEqual([after, before, error], [250, 1_001, undefined]);
  assert.deepEqual(delivered(network).slice(249), upTo(1_001, 2_000));
  assert.deepEqual(numbers(channel.messages), upTo(1_801, 2_000));
});

test("a history that cannot be read is reported, and messages go on", async () => {
  const { network, stored } = await inRoom([1]);
  network.history = () => Promise.reject(new Error("no network"));
  await live(network, message(4));
  const [{ after, before, error }] = network.of("chat_gap");
  assert.deepEqual([after, before, error.message, delivered(network)], [1, 4, "no network", [4]]);
  network.history = stored.answer;
  await live(network, message(5));
  assert.deepEqual(delivered(network), [4, 5]);
  const failing = new SocketNetwork();
  failing.history = () => Promise.reject(new Error("no network"));
  failing.answers.channel_join = () => ({ channel: { id: ROOM, self: wire("ann") } });
  const channel = await (await failing.connected()).chat.joinRoom("lobby");
  await live(failing, message(7), message(8));
  assert.deepEqual([numbers(channel.messages), failing.of("chat_gap").length], [[7, 8], 1]);
});

test("members are known and change", async () => {
  const { network, channel } = await inRoom();
  assert.deepEqual([channel.members, channel.self], [[shown("bob"), shown("ann")], shown("ann")]);
  network.peer.say({ channel_presence_event: { channel_id: ROOM, joins: [wire("ann"), wire("cat")], leaves: [wire("bob")] } });
  await settled();
  assert.deepEqual(network.of("chat_members").map(({ joins, leaves }) => [joins, leaves]), [[[shown("cat")], [shown("bob")]]]);
  network.peer.say({ channel_presence_event: { channel_id: ROOM, leaves: [wire("ann")] } });
  await settled();
  assert.deepEqual([channel.isJoined, network.of("chat_left")[0].reason], [false, "removed"]);
  await live(network, message(1));
  assert.deepEqual(delivered(network), []);
});

test("channels are joined again after a lost connection, and missed messages follow once", async () => {
  const { network, stored, socket, channel } = await inRoom([1, 2], { isHidden: true });
  await live(network, message(3));
  stored.add(3);
  network.peer.cut();
  stored.messages[0] = { ...message(1), content: '{"text":"edited"}', update_time: "2026-01-01T00:00:05Z" };
  stored.messages.splice(1, 1);
  stored.add(4, 5);
  network.answers.channel_join = () => ({ channel: { id: ROOM, presences: [wire("cat")], self: wire("ann", "ann-2") } });
  await network.time.pass(200);
  assert.deepEqual(network.peer.of("channel_join")[0].fields, { target: "lobby", type: 1, persistence: true, hidden: true });
  assert.equal(socket.chat.all[0], channel);
  assert.deepEqual([delivered(network), texts(channel)], [[3, 4, 5], ["edited", "text 3", "text 4", "text 5"]]);
  assert.deepEqual(network.of("chat_edited").map(({ message: { id } }) => id), ["m1"]);
  assert.deepEqual(network.of("chat_removed").map(({ message: { id } }) => id), ["m2"]);
  assert.deepEqual(network.of("chat_members").map(({ joins, leaves }) => [joins, leaves]), [[[shown("cat")], [shown("bob")]]]);
  await live(network, message(6));
  assert.deepEqual([delivered(network), channel.self], [[3, 4, 5, 6], shown("ann", "ann-2")]);
});

test("a connection that is lost while the history is read is caught up again", async () => {
  const { network, stored } = await inRoom([1]);
  const answers = [];
  network.history = () => new Promise((resolve) => answers.push(resolve));
  await live(network, message(3));
  network.peer.cut();
  await network.time.pass(200);
  answers.shift()({ messages: [message(3), message(2), message(1)] });
  await settled();
  stored.add(2, 3, 4);
  answers.shift()(stored.answer({ query: { limit: 100 } }));
  await settled();
  assert.deepEqual([delivered(network), answers.length], [[2, 3, 4], 0]);
});

test("a channel that cannot be joined again is reported", async () => {
  const { network, channel } = await inRoom();
  network.answers.channel_join = () => ({ error: { code: 3, message: "You are not a member of the group." } });
  network.peer.cut();
  await network.time.pass(200);
  const { notRestored } = network.of("connected").at(-1);
  assert.deepEqual(notRestored.map(({ what, id }) => [what, id]), [["chat", ROOM]]);
  assert.deepEqual([channel.isJoined, network.of("chat_left")[0].reason], [false, "not_restored"]);
});

test("a member who was removed from the group is not in its channel any more", async () => {
  for (const [code, isGone] of [[5, true], [6, true], [8, true], [7, false]]) {
    const { network, channel } = await inRoom();
    await live(network, message(1, { code, sender_id: "bob" }), message(2, { code, sender_id: "ann" }));
    assert.deepEqual([channel.isJoined, network.of("chat_left").map(({ reason }) => reason)], [!isGone, isGone ? ["removed"] : []]);
    assert.deepEqual(delivered(network), [1, 2]);
  }
});

test("joins that follow each other too fast are sent again", async () => {
  const { network, socket } = await inRoom();
  const tooFast = { error: { code: 0, message: "Too many messages. Send fewer per second." } };
  let refusals = 2;
  network.answers.channel_join = ({ target }) => ((refusals -= 1) >= 0 ? tooFast : { channel: { id: `2...${target}`, self: wire("ann") } });
  const joining = outcome(socket.chat.joinRoom("other"));
  await network.time.pass(750);
  assert.equal(joining.value.id, "2...other");
  refusals = 3;
  network.peer.cut();
  await network.time.pass(2_500);
  assert.deepEqual([network.of("connected").at(-1).notRestored, socket.chat.all.length], [[], 2]);
  refusals = 100;
  const failing = outcome(socket.chat.joinRoom("third"));
  await network.time.pass(5_000);
  assert.match(failing.error.message, /Too many messages/);
});

test("a channel that was left is not joined again", async () => {
  const { network, socket, channel } = await inRoom();
  await channel.leave();
  assert.deepEqual(network.peer.of("channel_leave")[0].fields, { channel_id: ROOM });
  const again = await socket.chat.joinRoom("lobby");
  network.peer.cut();
  await again.leave();
  await network.time.pass(200);
  assert.equal(network.peer.of("channel_join").length, 0);
});

test("a join that is given up is taken back", async () => {
  const network = new SocketNetwork();
  network.answers.channel_leave = () => ({});
  let answer;
  network.history = () => new Promise((resolve) => (answer = resolve));
  const socket = await network.connected();
  const [early, late] = [new AbortController(), new AbortController()];
  const first = outcome(socket.chat.joinRoom("lobby", { signal: early.signal }));
  early.abort(new Error("enough"));
  network.peer.answer("channel_join", { channel: { id: ROOM, self: wire("ann") } });
  await settled();
  const second = outcome(socket.chat.joinRoom("lobby", { signal: late.signal }));
  network.peer.answer("channel_join", { channel: { id: ROOM, self: wire("ann") } });
  await settled();
  late.abort(new Error("enough"));
  answer({});
  await settled();
  assert.deepEqual([first.error.message, second.error.message, socket.chat.all.length], ["enough", "enough", 0]);
  assert.equal(network.peer.of("channel_leave").length, 2);
});

test("contents that are no objects, and unknown kinds, are read", async () => {
  const { network, channel } = await inRoom();
  await live(network, message(1, { content: "[1]" }), message(2, { content: "{" }), message(3, { code: 99 }), message(4, { code: 7 }));
  assert.deepEqual(channel.messages.map(({ content, kind }) => [content, kind]), [
    [{}, "chat"],
    [{}, "chat"],
    [{ text: "text 3" }, "unknown"],
    [{ text: "text 4" }, "group_promoted"],
  ]);
});

/** Random numbers in [0, 1) from a seed. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

for (let seed = 1; seed <= 50; seed += 1) {
  test(`each message is reported once and in order, whatever is lost (seed ${seed})`, async () => {
    const random = randomOf(seed);
    const { network, stored, channel } = await inRoom();
    let [last, isConnected] = [0, true];
    const answers = [];
    // The history is answered late, at a random step.
    network.history = (call) => new Promise((resolve) => answers.push(() => resolve(stored.answer(call))));
    const tell = (each) => isConnected && network.peer.say({ channel_message: each });
    const any = () => stored.messages[Math.floor(random() * stored.messages.length)];
    for (let step = 0; step < 90; step += 1) {
      const chance = random();
      if (chance < 0.5) {
        last += 1;
        stored.add(last);
        if (random() < 0.85) tell(message(last));
      } else if (chance < 0.6 && any() !== undefined) {
        const target = any();
        Object.assign(target, { content: JSON.stringify({ text: `edit ${step}` }), update_time: new Date(Date.UTC(2026, 0, 2) + step).toISOString() });
        tell({ ...target, code: 1 });
      } else if (chance < 0.66 && any() !== undefined) {
        const [gone] = stored.messages.splice(Math.floor(random() * stored.messages.length), 1);
        tell({ ...gone, code: 2, content: "{}" });
      } else if (chance < 0.72) {
        network.peer.cut();
        isConnected = false;
      } else if (chance < 0.8) {
        await network.time.pass(6_000);
        isConnected = true;
      } else answers.shift()?.();
      await settled();
    }
    await network.time.pass(10_000);
    isConnected = true;
    last += 1;
    stored.add(last);
    tell(message(last));
    for (let round = 0; round < 20; round += 1) {
      answers.shift()?.();
      await settled();
    }
    const sequences = delivered(network);
    assert.deepEqual(sequences, [...new Set(sequences)].sort((one, other) => one - other));
    assert.deepEqual(texts(channel), stored.messages.map(({ content }) => JSON.parse(content).text));
    assert.equal(network.of("chat_gap").length, 0);
  });
}
