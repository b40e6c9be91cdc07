// Prediction against a real server: the own player responds at once, without corrections where the rules match.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { Client } from "../../dist/index.js";
import { walking } from "../support/outpost.mjs";
import { until } from "../support/until.mjs";

const server = serve();
const LATENCY_MS = 200;
const RESTING = { push: [0, 0], aim: 0, fire: false };
let rooms = [];

async function join(type, rules, options = {}) {
  const room = await new Client({ url: server.url }).join(type, { rules, ...options });
  rooms.push(room);
  await until("there is something to steer", () => room.own("movement"));
  return room;
}

afterEach(async () => {
  await Promise.all(rooms.map((room) => room.leave()));
  rooms = [];
});

const place = (room) => room.own("movement").fields.position;
const distance = (one, other) => Math.hypot(one[0] - other[0], one[1] - other[1]);

/** Waits without processing messages: any change comes from the prediction. */
function alone(what, condition) {
  const deadline = Date.now() + 10_000;
  while (!condition()) if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}`);
}

test("the own player moves before the server received the input, without corrections", async () => {
  const room = await join("outpost", walking());
  room.conditions = { latencyMs: LATENCY_MS };
  room.setInput(RESTING);
  await until("the far server is kept up with", () => room.statistics.roundTripMs > LATENCY_MS && room.statistics.inputAck > 0);
  const start = place(room);
  const { inputAck } = room.statistics;
  room.setInput({ ...RESTING, push: [1, 0] });
  alone("the own player walks", () => distance(place(room), start) > 0.1);
  assert.equal(room.statistics.inputAck, inputAck);
  for (const [turn, push] of [[0, 1], [-1, 0.5], [0.25, -1], [-1, -1], [0, 0]].entries()) {
    const { inputSeq } = room.statistics;
    room.setInput({ push, aim: turn, fire: false });
    await until("it is walked for a while", () => room.statistics.inputAck > inputSeq + 15);
  }
  const { corrections, packetsReceived, faults, pendingInputs } = room.statistics;
  assert.ok(packetsReceived > 20, JSON.stringify(room.statistics));
  assert.ok(pendingInputs > 5, "inputs are in flight all the time");
  assert.deepEqual([corrections, faults], [0, 0], JSON.stringify(room.statistics));
  const predicted = place(room);
  const newest = () => [...room.surroundings.entities("movement")].find(({ id }) => id === room.ownEntity).fields.position;
  await until("the newest state is where the prediction was", () => distance(newest(), predicted) === 0);
  room.settings = { prediction: false };
  await until("the server says the same", () => distance(place(room), predicted) === 0);
});

test("without prediction the own player waits for the server", async () => {
  const room = await join("outpost", walking());
  room.setInput(RESTING);
  room.conditions = { latencyMs: LATENCY_MS };
  room.settings = { prediction: false };
  await until("the far server is kept up with", () => room.statistics.roundTripMs > LATENCY_MS && room.statistics.inputAck > 0);
  const start = place(room);
  const { inputSeq } = room.statistics;
  room.setInput({ ...RESTING, push: [0, 1] });
  await until("the own player walks", () => distance(place(room), start) > 0.1);
  assert.ok(room.statistics.inputAck > inputSeq);
});

test("wrong rules are corrected, unless reconciliation is off", async () => {
  const room = await join("outpost", walking(1.5));
  room.setInput({ ...RESTING, push: [1, 0] });
  await until("it is corrected", () => room.statistics.corrections > 5);
  assert.ok(room.statistics.lastCorrectionDistance > 0 && room.statistics.largestCorrectionDistance < 5, JSON.stringify(room.statistics));
  room.settings = { reconciliation: false };
  const { corrections, inputAck } = room.statistics;
  await until("some time has passed", () => room.statistics.inputAck > inputAck + 30);
  assert.equal(room.statistics.corrections, corrections);
});

test("rules get the newest state, and their errors are tolerated", async () => {
  const seen = [];
  const told = [];
  const { error } = console;
  console.error = (thrown) => told.push(thrown);
  try {
    const rules = walking();
    const other = await join("outpost", undefined);
    const room = await join("outpost", {
      ...rules,
      step(state, input, seconds, world) {
        seen.push({ version: world.version("bodies"), bodies: [...world.entities("bodies")] });
        if (input.fire) throw new Error("the rules fail");
        rules.step(state, input, seconds);
      },
    });
    room.setInput(RESTING);
    await until("both are seen", () => seen.at(-1)?.bodies.length === 2);
    const ids = seen.at(-1).bodies.map(({ id }) => id);
    assert.ok(ids.includes(room.ownEntity) && ids.includes(other.ownEntity));
    assert.equal(seen.at(-1).bodies[0].fields.health, 100);
    const { version } = seen.at(-1);
    await other.leave();
    await until("the other is gone", () => seen.at(-1).bodies.length === 1);
    assert.notEqual(seen.at(-1).version, version);
    room.setInput({ ...RESTING, fire: true });
    await until("the failure is told", () => told.length > 0);
    room.setInput({ ...RESTING, push: [1, 0] });
    const start = place(room);
    await until("it walks on", () => distance(place(room), start) > 2);
    assert.deepEqual(told.map((thrown) => thrown.message), ["the rules fail"], "it is reported once");
  } finally {
    console.error = error;
  }
});

test("without rules everything is interpolated", async () => {
  const one = await join("outpost", undefined);
  const other = await join("outpost", undefined);
  one.setInput({ ...RESTING, push: [0, 1] });
  other.setInput(RESTING);
  const places = new Set();
  const snapshots = new Set();
  other.on("snapshot", ({ tick }) => snapshots.add(tick));
  await until("there are more places than states", () => {
    const shown = other.entity("movement", one.ownEntity)?.fields.position;
    if (shown !== undefined) places.add(shown.join());
    return places.size > snapshots.size + 10;
  });
});

test("changes of ignored fields are not corrections", async () => {
  // These rules do not handle shooting, which the server counts down in a field.
  const shooting = async (ignored) => {
    const room = await join("outpost", { ...walking(), ignored });
    room.setInput({ push: [0, 1], aim: 0, fire: true });
    await until("it has shot for a while", () => room.statistics.inputAck > 40);
    const { reload } = room.own("movement").fields;
    return { ...room.statistics, reload };
  };
  assert.ok((await shooting([])).corrections > 0);
  const { corrections, reload } = await shooting(["reload"]);
  assert.equal(corrections, 0);
  assert.ok(Number.isInteger(reload));
});
