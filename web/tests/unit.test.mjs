// The page's own reckoning, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./support/source.mjs";

const { FrameReader, frame } = await load("transport/frames.ts");
const { Fragments } = await load("fragments.ts");
const { Track, shortestWay } = await load("track.ts");
const { Clock } = await load("clock.ts");
const { World } = await load("world.ts");
const { Rate, RoundTrips } = await load("statistics.ts");
const { Pilot } = await load("pilot.ts");
const { decode, reasonText } = await load("protocol.ts");

const MEASURE = { secondsPerTick: 0.025, width: 2000, height: 2000, ticksPerUpdateMax: 4 };
const WELCOME = {
  player: 1,
  room: "a",
  roomCode: "K7QX",
  tickHz: 40,
  snapshotHz: 20,
  world: { min: { x: -1000, y: -1000 }, max: { x: 1000, y: 1000 }, interestRadius: 200 },
};

function sample(tick, x, y = 0, more = {}) {
  return { tick, x, y, angle: 0, velocityX: 0, velocityY: 0, ...more };
}

function snapshot(tick, mode, features, removed = []) {
  return { tick, mode, localAckSeq: 0, features, removed };
}

test("messages survive a stream that is cut anywhere", () => {
  const messages = [0, 1, 127, 128, 300, 20_000].map((length) => new Uint8Array(length).fill(length % 251));
  const stream = Buffer.concat(messages.map((message) => frame(message)));
  for (const step of [1, 3, 1000, stream.length]) {
    const reader = new FrameReader(1_048_576);
    const read = [];
    for (let at = 0; at < stream.length; at += step) read.push(...reader.push(stream.subarray(at, at + step)).map((part) => part.slice()));
    assert.deepEqual(read.map((part) => Buffer.from(part)), messages.map((message) => Buffer.from(message)));
  }
});

test("a length that is too long is refused", () => {
  assert.throws(() => new FrameReader(100).push(frame(new Uint8Array(101))));
  assert.throws(() => new FrameReader(100).push(Uint8Array.of(0xff, 0xff, 0xff, 0xff)));
});

test("fragments make a message in any order, and repeats change nothing", () => {
  const fragments = new Fragments();
  const part = (index, text) => ({ message: 7, index, total: 3, data: Buffer.from(text).toString("base64") });
  assert.equal(fragments.add(part(2, "é!")), undefined);
  assert.equal(fragments.add(part(0, "on")), undefined);
  assert.equal(fragments.add(part(0, "on")), undefined);
  assert.equal(fragments.add(part(1, "c")), "oncé!");
  assert.equal(fragments.add({ message: 8, index: 3, total: 3, data: "" }), undefined);
});

test("a place between two samples lies between them", () => {
  const track = new Track(sample(10, 0));
  track.push(sample(12, 10), MEASURE);
  assert.equal(track.at(11, MEASURE).x, 5);
  assert.equal(track.at(9, MEASURE).x, 0);
});

test("a ship that crosses the edge does not fly back over the whole world", () => {
  const track = new Track(sample(10, 995));
  track.push(sample(12, -995), MEASURE);
  assert.equal(track.at(11, MEASURE).x, 1000);
  assert.equal(shortestWay(995, -995, 2000), 10);
});

test("a jump is no flight", () => {
  const track = new Track(sample(10, 0));
  track.push(sample(12, 500), MEASURE);
  assert.equal(track.at(11.9, MEASURE).x, 0);
  assert.equal(track.at(12, MEASURE).x, 500);
});

test("after a rest the movement begins shortly before its first sample", () => {
  const track = new Track(sample(10, 0));
  track.push(sample(110, 8), MEASURE);
  assert.equal(track.at(60, MEASURE).x, 0);
  assert.equal(track.at(108, MEASURE).x, 4);
});

test("an entity flies on for a moment when nothing new comes, and no longer", () => {
  const track = new Track(sample(10, 0, 0, { velocityX: 100 }));
  assert.equal(track.at(12, MEASURE).x, 5);
  assert.equal(track.at(1000, MEASURE).x, 20);
});

test("angles turn the short way", () => {
  const track = new Track(sample(0, 0, 0, { angle: 3 }));
  track.push(sample(2, 0, 0, { angle: -3 }), MEASURE);
  assert.ok(Math.abs(track.at(1, MEASURE).angle - Math.PI) < 1e-9);
});

test("the clock shows a tenth of a second behind the fastest arrivals", () => {
  const clock = new Clock();
  clock.reset(40, 20);
  assert.equal(clock.shownTick(0), 0);
  clock.arrived(100, 5_000);
  clock.arrived(102, 5_090);
  assert.ok(clock.shownTick(5_100) < 100.001 && clock.shownTick(5_100) > 99.9);
});

test("the clock follows a server that stood still", () => {
  const clock = new Clock();
  clock.reset(40, 20);
  clock.arrived(100, 5_000);
  clock.arrived(102, 9_000);
  assert.equal(clock.shownTick(9_100), 102);
});

test("deltas change what they name, and removals are shown when their tick is", () => {
  const world = new World();
  world.enter(WELCOME);
  const ship = { id: 1, position: [1, 2], velocity: [0, 0], heading: 0, hull: 100, colour: 9 };
  world.apply(snapshot(10, "full", { movement: [ship], things: [{ id: 2, position: [0, 0], look: "Crate" }] }), 0);
  world.apply(snapshot(12, "delta", { movement: [{ id: 1, hull: 75 }] }, [2]), 50);
  assert.deepEqual([world.ships.get(1).hull, world.ships.get(1).colour, world.ships.get(1).track.newest.y], [75, 9, 2]);
  assert.equal(world.entitiesInView, 1);
  assert.equal(world.things.get(2).look, "crate");
  world.prune(11);
  assert.equal(world.things.size, 1);
  world.prune(12);
  assert.equal(world.things.size, 0);
});

test("a full snapshot ends what it does not name, and an overtaken one changes nothing", () => {
  const world = new World();
  world.enter(WELCOME);
  const rock = (id) => ({ id, position: [0, 0], look: "Rock" });
  world.apply(snapshot(10, "full", { things: [rock(1), rock(2)] }), 0);
  world.apply(snapshot(12, "full", { things: [rock(2)] }), 50);
  world.apply(snapshot(11, "delta", { things: [rock(3)] }), 60);
  assert.equal(world.entitiesInView, 1);
});

test("inputs are numbered without gaps, one for each tick, and repeated only where they may be lost", () => {
  for (const [unreliable, first] of [[false, 4], [true, 1]]) {
    const sent = [];
    const transport = { unreliable, sendUnreliable: (text) => sent.push(JSON.parse(text)) && text.length };
    const pilot = new Pilot();
    pilot.reset(40, 0);
    for (const now of [0, 25, 50, 75]) pilot.steer(transport, 12.3, now);
    assert.equal(pilot.seq, 4);
    assert.deepEqual(sent.map(({ payload }) => payload.inputs.at(-1).seq), [1, 2, 3, 4]);
    assert.equal(sent.at(-1).payload.inputs[0].seq, first);
    assert.equal((sent.at(-1).payload.viewTick * 256) % 1, 0);
  }
});

test("after a pause the inputs go on without making up for it, and a frame never grows too long", () => {
  const lengths = [];
  const transport = { unreliable: true, sendUnreliable: (text) => lengths.push(text.length) };
  const pilot = new Pilot();
  pilot.reset(40, 0);
  pilot.seq = 4_000_000_000;
  for (const now of [0, 100, 200, 10_000, 10_025]) pilot.steer(transport, 123_456.789, now);
  assert.ok(Math.max(...lengths) <= 512, `${lengths}`);
  assert.equal(pilot.seq, 4_000_000_000 + 1 + 4 + 4 + 1 + 1);
});

test("rates look back over the last seconds only", () => {
  const rate = new Rate();
  for (let at = 0; at <= 4_000; at += 100) rate.add(10, at);
  assert.ok(Math.abs(rate.perSecond(4_000) - 100) < 6);
  assert.equal(rate.perSecond(10_000), 0);
});

test("round trips are smoothed and their jitter measured", () => {
  const trips = new RoundTrips();
  for (let count = 0; count < 50; count += 1) trips.add(count % 2 === 0 ? 20 : 30);
  assert.ok(Math.abs(trips.rttMs - 25) < 2);
  assert.ok(Math.abs(trips.jitterMs - 5) < 2);
});

test("only envelopes of this version are messages", () => {
  assert.equal(decode("{"), undefined);
  assert.equal(decode("null"), undefined);
  assert.equal(decode('{"v":1,"kind":"pong"}'), undefined);
  assert.deepEqual(decode('{"v":2,"kind":"cleared"}').payload, {});
});

test("a closing has words, the server's own or ours", () => {
  const closing = { reason: "too_slow", text: "", deadlineMs: 0, mayResume: false };
  assert.equal(reasonText(closing), "This connection is too slow for the room.");
  assert.equal(reasonText({ ...closing, text: "Bye." }), "Bye.");
  assert.ok(reasonText({ ...closing, reason: "new_one" }).length > 0);
});
