// Rooms over WebSocket, against a real server, with both cores.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { Wire } from "../../../../testing/wire.mjs";
import { Client, joinRoom } from "../../dist/index.js";
import { until } from "../support/until.mjs";

const server = serve();
const MOTIONS = { movement: { position: "linear", heading: "angle" } };
const RESTING = { thrust: false, left: false, right: false, fire: false };
const THRUSTING = { ...RESTING, thrust: true };
let rooms = [];
let wires = [];
let core = "wasm";

async function join(choice = "sandbox", { url = server.url, ...options } = {}) {
  const room = await new Client({ url }).join(choice, { core, motions: MOTIONS, ...options });
  rooms.push(room);
  return room;
}

/** Declares a test for both cores. */
function both(name, run) {
  for (const kind of ["wasm", "json"]) {
    test(`${kind}: ${name}`, async () => {
      core = kind;
      await run();
    });
  }
}

async function wired() {
  const wire = await Wire.to(server.address);
  wires.push(wire);
  return wire;
}

afterEach(async () => {
  await Promise.all(rooms.map((room) => room.leave()));
  for (const wire of wires) wire.close();
  [rooms, wires] = [[], []];
});

const distance = (one, other) => Math.hypot(one[0] - other[0], one[1] - other[1]);
const place = (room) => room.own("movement")?.fields.position;
const playing = (room) => until("the player has a ship", () => place(room));

both("a ship is steered", async () => {
  const room = await join();
  const start = await playing(room);
  assert.equal(room.welcome.tickHz, 40);
  room.setInput(THRUSTING);
  await until("the ship moves", () => distance(place(room), start) > 15);
  const { heading } = room.own("movement").fields;
  room.setInput({ ...RESTING, left: true });
  await until("the ship turns", () => Math.abs(room.own("movement").fields.heading - heading) > 0.3);
  room.setInput({ ...RESTING, fire: true });
  await until("a shot flies", () => [...room.entities("projectile")].length > 0);
  const { roundTripMs, inputSeq, inputAck, faults } = room.statistics;
  assert.ok(roundTripMs > 0 && inputAck > 0 && inputSeq >= inputAck, JSON.stringify(room.statistics));
  assert.equal(faults, 0);
});

both("the game reads the join metadata, and its refusal has a reason", async () => {
  const client = new Client({ url: server.url });
  await client.session.visit();
  await client.profiles.create({ id: "mage", name: "Ända the Grey", data: { appearance: 6 } });
  const room = await client.join("outpost", { core, metadata: { profile: "mage", other: "ignored" } });
  rooms.push(room);
  const named = () => [...room.entities("presence")].find(({ fields }) => fields.name === "Ända the Grey");
  assert.equal((await until("the profile is shown", named)).fields.appearance, 6);
  const refused = client.join("outpost", { core, metadata: { profile: "p".repeat(65) } });
  await assert.rejects(refused, { code: "bad_value", message: /`profile` in the join metadata is longer than 64 bytes/ });
  const tooLong = client.join("outpost", { core, metadata: { profile: "p".repeat(513) } });
  await assert.rejects(tooLong, { code: "bad_message", message: "The field `metadata value` has more than 512 bytes." });
});

both("a ship is moved by its client, and corrected", async () => {
  const room = await join();
  const start = await playing(room);
  const corrections = [];
  room.on("correction", (correction) => corrections.push(correction));
  assert.equal(room.moveBy(1, 1), 1);
  await until("the ship moves", () => distance(place(room), [start[0] + 1, start[1] + 1]) < 0.1);
  assert.deepEqual(corrections, []);
  const seq = room.moveBy(500, 0);
  await until("a correction", () => corrections.length > 0);
  const [{ entity, position, velocity, inputAck }] = corrections;
  assert.deepEqual([entity, velocity, inputAck], [room.ownEntity, { x: 0, y: 0 }, seq]);
  assert.ok(distance([position.x, position.y], [start[0] + 1, start[1] + 1]) < 0.1, JSON.stringify({ start, position }));
  assert.equal(room.statistics.faults, 0);
});

both("another player's ship is seen moving", async () => {
  const one = await join();
  const other = await join({ code: one.welcome.roomCode });
  assert.equal(other.welcome.room, one.welcome.room);
  await Promise.all([playing(one), playing(other)]);
  await meet(one, other);
  const id = one.ownEntity;
  let before;
  await until("the other ship moves", async () => {
    const seen = other.entity("movement", id)?.fields.position;
    if (!seen) {
      // On a busy machine the ships may have drifted apart by now.
      before = undefined;
      await meet(one, other);
      return false;
    }
    one.setInput(THRUSTING);
    before ??= seen;
    return distance(seen, before) > 10;
  }, 60_000);
  await one.leave();
  await until("the ship that left is gone", () => other.entity("movement", id) === undefined);
});

both("entities enter and leave the view one by one", async () => {
  const room = await join();
  const inView = new Set();
  const mistakes = [];
  let isEmpty = false;
  // Everything enters again after a join.
  room.on("joined", () => void (isEmpty = true));
  room.reconnect();
  room.on("enter", ({ entity }) => inView.has(entity) ? mistakes.push(`${entity} entered twice`) : inView.add(entity));
  room.on("leave", ({ entity }) => inView.delete(entity) || mistakes.push(`${entity} left without having entered`));
  room.on("snapshot", ({ entered, left }) => {
    if (!entered.every((entity) => inView.has(entity))) mistakes.push("a snapshot came before its entities");
    if (left.some((entity) => inView.has(entity))) mistakes.push("a snapshot came before the leaving of its entities");
  });
  await until("the room is joined again", () => isEmpty);
  await playing(room);
  await until("the own ship enters", () => inView.has(room.ownEntity));
  room.setInput({ ...RESTING, fire: true });
  const seen = await until("a shot enters", () => [...room.entities("projectile")].find(({ id }) => inView.has(id)));
  room.setInput(RESTING);
  await until("it leaves", () => !inView.has(seen.id));
  assert.deepEqual(mistakes, []);
});

both("a cut connection resumes with the same ship", async () => {
  const wire = await wired();
  const room = await join("sandbox", { url: wire.url });
  await playing(room);
  const { player, session } = room.welcome;
  const ship = room.ownEntity;
  room.setInput(THRUSTING);
  const back = room.next("joined");
  wire.cut();
  const { isResumed, welcome } = await back;
  assert.deepEqual([isResumed, welcome.player, welcome.session], [true, player, session]);
  const start = await playing(room);
  assert.equal(room.ownEntity, ship);
  await until("it flies on", () => distance(place(room), start) > 10);
  assert.equal(room.statistics.losses, 1);
});

both("a player resumes after every cut", async () => {
  const wire = await wired();
  const room = await join("sandbox", { url: wire.url });
  await playing(room);
  const ship = room.ownEntity;
  for (let time = 0; time < 5; time += 1) {
    const back = room.next("joined");
    wire.cut();
    assert.equal((await back).isResumed, true);
    await playing(room);
    assert.equal(room.ownEntity, ship);
  }
});

both("a room that was left does not reconnect, and its player is removed", async () => {
  const room = await join();
  await playing(room);
  const events = [];
  room.on("ended", (event) => events.push(event));
  await room.leave();
  assert.deepEqual(events.map((event) => event.reason), ["left"]);
  const { server: about } = new Client({ url: server.url });
  const isEmpty = (entry) => entry.code !== room.welcome.roomCode || entry.players === 0;
  await until("the list knows it", async () => (await about.rooms()).every(isEmpty));
});

both("commands are rejected for players and allowed for developers", async () => {
  const room = await join();
  await playing(room);
  const error = await room.command("playground", "stress", { count: 3, rotate: true }).catch((thrown) => thrown);
  assert.equal(error.code, "forbidden");
  const nonsense = await room.command("nothing", "here", {}).catch((thrown) => thrown);
  assert.equal(nonsense.code, "unknown_command");
  const { server: about, requests } = new Client({ url: server.url });
  const token = async () => (await about.guest({ developerSecret: server.developerSecret })).token;
  const developer = await joinRoom({ server: about, url: requests.url, time: requests.time, token }, { code: room.welcome.roomCode }, { core });
  rooms.push(developer);
  await developer.command("playground", "stress", { count: 3, rotate: true });
});

both("an unknown input field is reported", async () => {
  const room = await join();
  await playing(room);
  if (core === "wasm") return assert.throws(() => room.setInput({ boost: true }), /has no field boost; it has thrust, left, right, fire/);
  const told = room.next("error");
  room.setInput({ boost: true });
  assert.match((await told).text, /has no field boost/);
});

both("members of a relay receive each other's messages, also long ones", async () => {
  const one = await join("relay");
  const members = [];
  one.on("member", (event) => members.push(event));
  const other = await join({ code: one.welcome.roomCode });
  await until("the newcomer is told", () => members.length === 1);
  const heard = other.events("message");
  const long = crypto.getRandomValues(new Uint8Array(12_000));
  await one.send(7, new TextEncoder().encode("hi"));
  await one.send(8, long);
  const [first, second] = [(await heard.next()).value, (await heard.next()).value];
  assert.deepEqual([first.code, new TextDecoder().decode(first.bytes), first.sender], [7, "hi", one.welcome.player]);
  assert.deepEqual([second.code, second.bytes], [8, long]);
  await other.leave();
  await until("the one who left is told of", () => members.length === 2 && !members[1].isHere);
});

both("a private room is not listed, and others join it by its code", async () => {
  const one = await join({ newPrivate: { name: "relay" } });
  const listed = (await new Client({ url: server.url }).server.rooms()).map((room) => room.id);
  assert.ok(!listed.includes(one.welcome.room), "it is not listed");
  const stranger = await join("relay");
  assert.notEqual(stranger.welcome.room, one.welcome.room);
  const guest = await join({ code: one.welcome.roomCode });
  assert.equal(guest.welcome.room, one.welcome.room);
});

both("a failed join rejects with a message", async () => {
  const error = await join({ code: "ZZZZZZ" }).catch((thrown) => thrown);
  assert.deepEqual([error.code, error.name], ["room_not_found", "AetherError"]);
  const unknown = await join("no such type").catch((thrown) => thrown);
  assert.equal(unknown.name, "AetherError");
  const ending = AbortSignal.timeout(300);
  const away = await join("sandbox", { url: "http://127.0.0.1:9", signal: ending }).catch((thrown) => thrown);
  assert.equal(away.name, "TimeoutError");
});

both("a room resumes after the server was killed and restarted", async () => {
  const room = await join();
  await playing(room);
  const lost = room.next("lost");
  await server.kill();
  await lost;
  assert.notEqual(room.phase, "joined");
  const back = room.next("joined");
  await server.start();
  await back;
  const start = await playing(room);
  room.setInput(THRUSTING);
  await until("it flies", () => distance(place(room), start) > 10);
});

/** Flies two ships towards each other until each is in the other's view. */
async function meet(one, other) {
  const worldUnits = 2_000;
  const way = (from, to) => ((((to - from + worldUnits / 2) % worldUnits) + worldUnits) % worldUnits) - worldUnits / 2;
  const steer = (room, [x, y]) => {
    const { position, heading } = room.own("movement").fields;
    const wanted = Math.atan2(way(position[1], y), way(position[0], x));
    const turn = Math.atan2(Math.sin(wanted - heading), Math.cos(wanted - heading));
    room.setInput({ thrust: Math.abs(turn) < 0.75, left: turn > 0.25, right: turn < -0.25, fire: false });
  };
  await until("the ships meet", () => {
    if (one.entity("movement", other.ownEntity) && other.entity("movement", one.ownEntity)) return true;
    if (!place(one) || !place(other)) return false;
    const [first, second] = [place(one), place(other)];
    steer(one, second);
    steer(other, first);
    return false;
  }, 60_000);
  for (const room of [one, other]) room.setInput(RESTING);
}
