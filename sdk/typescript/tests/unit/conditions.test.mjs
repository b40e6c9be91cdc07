// Simulated network conditions, in virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { Conditioner, Network as Simulated } from "../../dist/index.js";
import { Network } from "../support/network.mjs";
import { VirtualTime, settled } from "../support/time.mjs";

const NONE = { latencyMs: 0, jitterMs: 0, loss: 0, duplication: 0, reordering: 0, bytesPerSecond: 0, queueBytesMax: 24_000 };

/** Creates a transport behind conditions; the test is its other end. */
async function behind(conditions, { link = "unordered", seed = 1 } = {}) {
  const time = new VirtualTime();
  const network = new Simulated(time, seed);
  network.conditions = { ...NONE, ...conditions };
  const sent = [];
  const arrived = [];
  const ends = [];
  const startMs = time.nowMs();
  const note = (list) => (bytes) => list.push({ number: bytes[0], atMs: time.nowMs() - startMs });
  let far;
  const open = async (events) => {
    far = events;
    return { kind: "webtransport", link, waitingBytes: 7, sendReliable: note(sent), sendUnreliable: note(sent), close: () => undefined };
  };
  const transport = await network.open(open, { message: note(arrived), closed: (end) => ends.push(end) });
  return { time, network, transport, far, sent, arrived, ends };
}

const numbered = (count, use) => Array.from({ length: count }, (_, number) => use(Uint8Array.of(number)));

test("without conditions messages pass at once", async () => {
  const { transport, far, sent, arrived, time } = await behind({});
  transport.sendReliable(Uint8Array.of(1));
  transport.sendUnreliable(Uint8Array.of(2));
  far.message(Uint8Array.of(3));
  assert.deepEqual([sent.length, arrived.length, time.waiting, transport.waitingBytes], [2, 1, 0, 7]);
});

test("messages are late in both directions", async () => {
  const { transport, far, sent, arrived, time } = await behind({ latencyMs: 100 });
  transport.sendReliable(Uint8Array.of(1));
  far.message(Uint8Array.of(2), false);
  await time.pass(99);
  assert.deepEqual([sent, arrived], [[], []]);
  await time.pass(1);
  assert.deepEqual([sent, arrived], [[{ number: 1, atMs: 100 }], [{ number: 2, atMs: 100 }]]);
});

test("datagrams overtake each other as often as it is set, and reliable messages do not", async () => {
  const { transport, sent, time } = await behind({ latencyMs: 20, jitterMs: 80, reordering: 0.2, duplication: 0 });
  numbered(40, (bytes) => transport.sendUnreliable(bytes));
  await time.pass(300);
  const numbers = sent.splice(0).map(({ number }) => number);
  assert.equal(numbers.length, 40);
  assert.notDeepEqual(numbers, [...numbers].sort((a, b) => a - b));
  numbered(40, (bytes) => transport.sendReliable(bytes));
  await time.pass(300);
  assert.deepEqual(sent.map(({ number }) => number), numbered(40, ([number]) => number));
});

test("loss drops datagrams and delays reliable messages", async () => {
  const { transport, far, sent, arrived, time } = await behind({ latencyMs: 10, loss: 0.3 });
  numbered(200, (bytes) => transport.sendUnreliable(bytes));
  numbered(200, (bytes) => far.message(bytes));
  await time.pass(10);
  assert.ok(sent.length > 110 && sent.length < 170, `${sent.length} of 200 arrived`);
  assert.ok(arrived.length < 200);
  await time.pass(1_000);
  assert.deepEqual(arrived.map(({ number }) => number), numbered(200, ([number]) => number));
  assert.ok(arrived.at(-1).atMs >= 50, "resending takes a round trip");
});

test("with ordered delivery nothing is lost, and reliable messages arrive at any loss", async () => {
  const { transport, sent, time } = await behind({ latencyMs: 10, loss: 1 }, { link: "ordered" });
  numbered(20, (bytes) => transport.sendUnreliable(bytes));
  await time.pass(5_000);
  assert.deepEqual(sent.map(({ number }) => number), numbered(20, ([number]) => number));
});

test("jitter alone keeps the order of datagrams", async () => {
  const { transport, sent, time } = await behind({ latencyMs: 20, jitterMs: 80 });
  numbered(40, (bytes) => transport.sendUnreliable(bytes));
  await time.pass(100);
  assert.deepEqual(sent.map(({ number }) => number), numbered(40, ([number]) => number));
});

test("datagrams are duplicated as often as it is set, and reliable messages never", async () => {
  const { transport, sent, time } = await behind({ latencyMs: 5, duplication: 0.5 });
  numbered(200, (bytes) => transport.sendUnreliable(bytes));
  await time.pass(200);
  assert.ok(sent.length > 270 && sent.length < 330, `${sent.length} arrivals of 200 messages`);
  sent.splice(0);
  numbered(200, (bytes) => transport.sendReliable(bytes));
  await time.pass(200);
  assert.equal(sent.length, 200);
});

test("bandwidth delays messages, and datagrams that do not fit the queue are lost", async () => {
  const { transport, sent, time } = await behind({ bytesPerSecond: 1_000, queueBytesMax: 500 });
  for (let number = 0; number < 20; number += 1) transport.sendUnreliable(new Uint8Array(100).fill(number));
  await time.pass(5_000);
  assert.deepEqual(sent.map(({ atMs }) => atMs), [100, 200, 300, 400, 500]);
  const ordered = await behind({ bytesPerSecond: 1_000, queueBytesMax: 500 }, { link: "ordered" });
  for (let number = 0; number < 20; number += 1) ordered.transport.sendUnreliable(new Uint8Array(100).fill(number));
  await ordered.time.pass(5_000);
  assert.deepEqual(ordered.sent.map(({ atMs }) => atMs), Array.from({ length: 20 }, (_, index) => 100 * (index + 1)));
});

test("a simulated network that is too slow for the room closes the connection", async () => {
  const { far, ends, time } = await behind({ bytesPerSecond: 1 });
  for (let number = 0; number < 20_000; number += 1) far.message(Uint8Array.of(1));
  await time.pass(1);
  assert.deepEqual(ends.map(({ text }) => text), ["The simulated network is too slow for this room."]);
});

test("the model is that of the native client", () => {
  const golden = readFileSync(new URL("../../../../crates/client/tests/client/golden/conditioner.txt", import.meta.url), "utf8");
  const actual = golden.split("\n\n").map((block) => {
    const [head] = block.trim().split("\n");
    const { delivery, seed, ...conditions } = JSON.parse(head);
    const conditioner = new Conditioner(delivery, BigInt(seed));
    const lines = Array.from({ length: 40 }, (_, number) => {
      const arrivals = conditioner.arrivalsMs({ ...NONE, ...conditions }, 5 * number, 20 * (number + 1));
      // In units of 10 µs, rounded up, with a tolerance of 100 ns.
      const units = arrivals.map((atMs) => Math.ceil((atMs - 0.0001) * 100)).sort((one, other) => one - other);
      return units.join(" ") || "lost";
    });
    return [head, ...lines].join("\n");
  });
  assert.equal(`${actual.join("\n\n")}\n`, golden);
});

test("the same seed gives the same network", async () => {
  const run = async (seed) => {
    const { transport, sent, time } = await behind({ latencyMs: 5, jitterMs: 50, loss: 0.2 }, { seed });
    numbered(50, (bytes) => transport.sendUnreliable(bytes));
    await time.pass(100);
    return sent;
  };
  assert.deepEqual(await run(3), await run(3));
  assert.notDeepEqual(await run(3), await run(4));
});

test("the end is delivered once, after earlier messages", async () => {
  const { transport, far, arrived, ends, time } = await behind({ latencyMs: 50 });
  far.message(Uint8Array.of(1));
  far.closed({ code: 1000, text: "over" });
  assert.deepEqual([arrived.length, ends.length], [0, 0]);
  await time.pass(50);
  assert.deepEqual([arrived.length, ends], [1, [{ code: 1000, text: "over" }]]);
  transport.close();
  assert.equal(ends.length, 1);
  const other = await behind({ latencyMs: 50 });
  other.far.message(Uint8Array.of(1));
  other.transport.close("enough");
  await other.time.pass(100);
  assert.deepEqual([other.arrived.length, other.ends.map(({ text }) => text), other.time.waiting], [0, ["enough"], 0]);
});

test("a room's conditions apply to its current connection", async () => {
  const network = new Network();
  const room = await network.joined();
  room.conditions = { latencyMs: 300 };
  const before = network.peer.of("ping").length;
  await network.time.pass(1_000);
  const asked = network.peer.of("ping").slice(before);
  assert.ok(asked.length > 0 && asked.length < 3);
  const heard = network.kinds().length;
  network.peer.say("possession", { tick: 1, entity: 2 });
  await network.time.pass(299);
  assert.equal(network.kinds().length, heard);
  await network.time.pass(1);
  assert.equal(network.kinds().at(-1), "possession");
  assert.deepEqual(room.conditions, { ...NONE, latencyMs: 300 });
  assert.throws(() => (room.conditions = { loss: Number.NaN }), RangeError);
  room.conditions = { latencyMs: 1e9, loss: 4 };
  assert.deepEqual(room.conditions, { ...NONE, latencyMs: 10_000, loss: 1 });
  await settled();
});
