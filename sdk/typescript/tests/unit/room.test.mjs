// A room over in-memory transports, in virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AetherError } from "../../dist/index.js";
import { Network, WELCOME } from "../support/network.mjs";
import { settled } from "../support/time.mjs";

const snapshot = (tick, ships, more = {}) => ({ tick, mode: "delta", localAckSeq: 0, features: { movement: ships }, removed: [], ...more });

test("the hello names the room and carries the token; the welcome joins", async () => {
  const network = new Network();
  const room = await network.joined();
  assert.deepEqual(network.peer.of("hello")[0].payload, { token: "token-1", room: { type: { name: "arena" } } });
  assert.equal(network.peer.of("hello")[0].v, 2);
  assert.equal(room.phase, "joined");
  assert.deepEqual(network.events[0], { kind: "joined", welcome: WELCOME, isResumed: false });
});

test("a hello that joins carries the metadata, and one that resumes does not", async () => {
  const network = new Network();
  const metadata = { profile: "mage" };
  await network.joined({ metadata });
  assert.deepEqual(network.peer.of("hello")[0].payload, { token: "token-1", room: { type: { name: "arena" } }, metadata });
  network.peer.cut();
  await network.time.pass(200);
  network.peer.say("error", { code: "resume_refused", message: "too late", fatal: false });
  const hellos = network.peer.of("hello").map((hello) => hello.payload);
  assert.deepEqual(hellos, [{ resumeToken: "resume-1" }, { token: "token-1", room: { id: "room-1" }, metadata }]);
});

test("one input is sent per tick, numbered without gaps", async () => {
  const network = new Network();
  const room = await network.joined();
  await network.time.pass(500);
  assert.equal(network.peer.inputs.length, 0, "without input nothing is sent");
  room.setInput({ thrust: true });
  await network.time.pass(1_000);
  const seqs = network.peer.inputs.map((input) => input.seq);
  assert.deepEqual(seqs, seqs.map((_, index) => index + 1), "each once with ordered delivery");
  assert.ok(seqs.length >= 39 && seqs.length <= 42, `${seqs.length} inputs in a second of 40 ticks`);
  assert.throws(() => room.setInput({ long: "x".repeat(500) }), RangeError);
});

test("inputs are repeated with unordered delivery", async () => {
  const network = new Network();
  network.webTransport = "open";
  const room = await network.joined();
  room.setInput({ thrust: true });
  await network.time.pass(1_000);
  const batches = network.peer.of("command").map((message) => message.payload.inputs.map((input) => input.seq));
  assert.deepEqual(batches.at(-1).length, 4);
  assert.ok(network.peer.sent.every((message) => message.bytes <= 512 || message.kind === "hello"));
  assert.ok(network.peer.of("command").every((message) => !message.isReliable));
});

test("movements share the numbers of inputs, and corrections name them", async () => {
  for (const transport of ["websocket", "webtransport"]) {
    const network = new Network();
    network.webTransport = transport === "webtransport" ? "open" : network.webTransport;
    const room = await network.joined();
    assert.equal(room.moveBy(1, 0), undefined, "the player has no entity yet");
    network.peer.say("possession", { tick: 1, entity: 7 });
    assert.equal(room.moveBy(1, -0.5), 1);
    room.setInput({ thrust: true });
    await network.time.pass(200);
    const seq = room.moveBy(60, 0);
    await network.time.pass(200);
    const deltas = network.peer.of("command").filter(({ action }) => action === "delta");
    assert.deepEqual(deltas.map(({ feature, seq, payload }) => [feature, seq, payload]), [
      ["movement", 1, { entity: 7, dx: 1, dy: -0.5 }],
      ["movement", seq, { entity: 7, dx: 60, dy: 0 }],
    ]);
    assert.ok(deltas.every(({ clientTime, isReliable }) => clientTime >= 0 && !isReliable), JSON.stringify(deltas));
    for (const { payload } of network.peer.of("command").filter(({ action }) => action === "input_batch")) {
      const seqs = payload.inputs.map((input) => input.seq);
      assert.deepEqual(seqs, seqs.map((_, index) => seqs[0] + index), "the numbers of a batch have no gaps");
      assert.ok(!seqs.includes(1) && !seqs.includes(seq), "no input has the number of a movement");
    }
    network.peer.say("correction", { entity: 7, position: { x: 3, y: 4 }, velocity: { x: 0, y: 0 }, ackSeq: seq });
    assert.deepEqual(network.events.at(-1), { kind: "correction", entity: 7, position: { x: 3, y: 4 }, velocity: { x: 0, y: 0 }, inputAck: seq });
    assert.throws(() => room.moveBy(Number.NaN, 0), TypeError);
    await assert.rejects(room.command("movement", "delta", { entity: 7, dx: 1, dy: 0 }), { code: "unknown_command" });
    const left = room.leave();
    await network.time.pass(1_000);
    await left;
    assert.equal(room.moveBy(1, 0), undefined, "the room is over");
  }
});

test("entities enter, change and leave", async () => {
  const network = new Network();
  const room = await network.joined();
  network.peer.say("possession", { tick: 1, entity: 7 });
  network.peer.say("snapshot", snapshot(2, [{ id: 7, position: [1, 2], hull: 9 }, { id: 8, position: [3, 4] }], { mode: "full" }));
  assert.deepEqual([...room.entities("movement")].map((entity) => entity.id), [7, 8]);
  assert.deepEqual(room.own("movement"), { id: 7, fields: { position: [1, 2], hull: 9 } });
  network.peer.say("snapshot", snapshot(4, [{ id: 7, position: [2, 2] }], { removed: [8], localAckSeq: 3 }));
  assert.deepEqual(room.own("movement").fields, { position: [2, 2], hull: 9 }, "absent fields keep their value");
  assert.equal(room.entity("movement", 8), undefined);
  const seen = network.events.filter((event) => event.kind === "snapshot");
  assert.deepEqual(seen.map(({ entered, left }) => [entered, left]), [[[7, 8], []], [[], [8]]]);
  const changes = network.events.filter((event) => event.kind === "enter" || event.kind === "leave");
  assert.deepEqual(changes, [
    { kind: "enter", tick: 2, entity: 7 },
    { kind: "enter", tick: 2, entity: 8 },
    { kind: "leave", tick: 4, entity: 8 },
  ]);
  network.peer.say("snapshot", snapshot(3, [{ id: 7, position: [0, 0] }]));
  assert.deepEqual(room.own("movement").fields.position, [2, 2], "an overtaken snapshot is ignored");
  assert.equal(room.statistics.inputAck, 3);
  network.peer.say("snapshot", snapshot(6, [{ id: 9, position: [0, 0] }], { mode: "full" }));
  assert.deepEqual([...room.entities("movement")].map((entity) => entity.id), [9]);
});

test("movement is interpolated with a delay", async () => {
  const network = new Network();
  const room = await network.joined({ motions: { movement: { position: "linear", heading: "angle" } } });
  for (let tick = 2; tick <= 40; tick += 2) {
    network.peer.say("snapshot", snapshot(tick, [{ id: 7, position: [tick, 0], heading: tick / 10 }]));
    await network.time.pass(50);
  }
  const places = [];
  for (let frame = 0; frame < 10; frame += 1) {
    places.push(room.entity("movement", 7).fields.position[0]);
    await network.time.pass(10);
  }
  const steps = places.slice(1).map((place, index) => place - places[index]).filter((step) => step > 0);
  assert.ok(steps.every((step) => step <= 0.41), `no step of a frame is larger than its share: ${steps}`);
  assert.ok(40 - places[0] > 1 && 40 - places[0] < 6);
});

test("commands are answered, rejected or timed out", async () => {
  const network = new Network();
  const room = await network.joined();
  const done = room.command("playground", "stress", { count: 3 });
  const refused = room.command("playground", "clear").catch((error) => error);
  const [first, second] = network.peer.of("command");
  assert.deepEqual([first.seq, first.feature, first.action, first.payload], [1, "playground", "stress", { count: 3 }]);
  network.peer.say("ack", { error: { code: "forbidden", message: "no" } }, { seq: second.seq });
  network.peer.say("ack", {}, { seq: first.seq });
  await done;
  const error = await refused;
  assert.ok(error instanceof AetherError);
  assert.deepEqual([error.code, error.message], ["forbidden", "no"]);
  const unanswered = room.command("a", "b").catch((thrown) => thrown);
  for (let step = 0; step < 11; step += 1) {
    network.peer.say("snapshot", snapshot(step, []));
    await network.time.pass(1_000);
  }
  assert.equal((await unanswered).code, "timed_out");
  const lost = room.command("a", "b").catch((thrown) => thrown);
  network.peer.cut();
  assert.equal((await lost).code, "disconnected");
  assert.equal((await room.command("a", "b").catch((thrown) => thrown)).code, "disconnected");
});

test("a long command is fragmented and sent within the rate limit", async () => {
  const network = new Network();
  const room = await network.joined({}, { tickHz: 0, snapshotHz: 0 });
  void room.send(5, new Uint8Array(15_000)).catch(() => undefined);
  assert.equal(network.peer.of("fragment").length, 24, "one burst");
  assert.ok(network.peer.of("fragment").every((message) => message.bytes <= 512));
  await network.time.pass(500);
  assert.ok(network.peer.of("fragment").length <= 24 + 26);
  await network.time.pass(3_000);
  const parts = network.peer.of("fragment").map((message) => message.payload);
  assert.equal(parts.length, parts[0].total);
  const whole = JSON.parse(Buffer.concat(parts.map((part) => Buffer.from(part.data, "base64"))).toString());
  assert.deepEqual([whole.feature, whole.action, whole.payload.code], ["game", "message", 5]);
});

test("fragments of server messages are joined", async () => {
  const network = new Network();
  const room = await network.joined();
  const text = Buffer.from(JSON.stringify({ v: 2, kind: "event", feature: "weather", action: "storm", payload: { tick: 5, fields: { wind: "é" } } }));
  const part = (index, data) => ({ message: 1, index, total: 2, data: data.toString("base64") });
  network.peer.say("fragment", part(1, text.subarray(40)));
  network.peer.say("fragment", part(0, text.subarray(0, 40)));
  assert.deepEqual(network.events.at(-1), { kind: "event", tick: 5, feature: "weather", action: "storm", fields: { wind: "é" }, sender: 0 });
  assert.equal(room.statistics.faults, 0);
});

test("invalid server messages do not end the room", async () => {
  const network = new Network();
  const room = await network.joined();
  const say = (text) => network.peer.events.message(new TextEncoder().encode(text));
  const nonsense = [
    "",
    "{",
    "null",
    "[]",
    '{"v":1,"kind":"welcome"}',
    '{"v":2}',
    '{"v":2,"kind":"snapshot","payload":{"tick":9}}',
    '{"v":2,"kind":"welcome","payload":{}}',
    '{"v":2,"kind":"fragment","payload":{"message":1,"index":9,"total":2,"data":"!"}}',
  ];
  for (const text of nonsense) say(text);
  say('{"v":2,"kind":"news","payload":{}}');
  assert.equal(room.statistics.faults, nonsense.length);
  assert.equal(room.phase, "joined");
});

test("a lost connection is resumed as the same player, and the token is used until it is answered", async () => {
  const network = new Network();
  const room = await network.joined();
  room.setInput({ thrust: true });
  await network.time.pass(300);
  network.peer.cut();
  assert.equal(room.phase, "waiting");
  assert.deepEqual(network.events.at(-1), { kind: "lost", text: "cut" });
  await network.time.pass(200);
  assert.deepEqual(network.peer.of("hello")[0].payload, { resumeToken: "resume-1" });
  network.peer.cut("again");
  await network.time.pass(400);
  assert.deepEqual(network.peer.of("hello")[0].payload, { resumeToken: "resume-1" }, "the token is used until it is answered");
  network.peer.say("welcome", { ...WELCOME, resumeToken: "resume-2" });
  assert.equal(network.events.at(-1).isResumed, true);
  network.peer.cut();
  await network.time.pass(200);
  network.peer.say("welcome", { ...WELCOME, resumeToken: "resume-3" });
  assert.equal(network.events.at(-1).isResumed, true);
  await network.time.pass(100);
  assert.equal(network.peer.inputs[0].seq, 1, "inputs are renumbered and continue");
  assert.equal(room.statistics.losses, 2);
});

test("after a rejected resume the same room is joined, then any of its type", async () => {
  const network = new Network();
  await network.joined();
  network.peer.cut();
  await network.time.pass(200);
  network.peer.say("error", { code: "resume_refused", message: "too late", fatal: false });
  network.peer.say("error", { code: "room_not_found", message: "gone", fatal: false });
  assert.deepEqual(network.peer.of("hello").map((hello) => hello.payload), [
    { resumeToken: "resume-1" },
    { token: "token-1", room: { id: "room-1" } },
    { token: "token-1", room: { type: { name: "arena" } } },
  ]);
});

test("the backoff grows to five seconds", async () => {
  const network = new Network();
  await network.joined();
  network.webSocket = "fail";
  network.peer.cut();
  const before = network.tokens.length;
  await network.time.pass(200 + 400 + 800 + 1_600 + 3_200);
  assert.equal(network.tokens.length - before, 5);
  await network.time.pass(50_000);
  assert.ok(Math.abs(network.tokens.length - before - 15) <= 1);
});

test("a final close reason ends the room", async () => {
  for (const reason of ["kicked", "replaced", "session_ended", "room_ended"]) {
    const network = new Network();
    const room = await network.joined();
    network.peer.say("closing", { reason, text: "why", deadlineMs: 0, mayResume: false });
    network.peer.cut();
    await network.time.pass(60_000);
    assert.equal(network.peers.length, 1);
    assert.deepEqual(network.events.at(-1), { kind: "ended", reason, text: "why" });
    assert.equal(room.phase, "ended");
    assert.equal(network.time.waiting, 0, "no timer is left");
    assert.equal(network.occasions.size, 0);
  }
});

test("the room resumes after a server shutdown; the announcement alone ends nothing", async () => {
  const network = new Network();
  const room = await network.joined();
  network.peer.say("closing", { reason: "shutdown", text: "soon", deadlineMs: 5_000, mayResume: true });
  assert.equal(room.phase, "joined");
  network.peer.say("closing", { reason: "shutdown", text: "now", deadlineMs: 0, mayResume: true });
  network.peer.cut();
  await network.time.pass(300);
  assert.deepEqual(network.peer.of("hello")[0].payload, { resumeToken: "resume-1" });
});

test("a permanent join error ends the room, a temporary one does not", async () => {
  const network = new Network();
  const room = network.room();
  await settled();
  network.peer.say("error", { code: "unavailable", message: "later", fatal: false });
  await network.time.pass(300);
  assert.equal(network.peers.length, 2);
  assert.equal(network.peers[0].isOpen, false);
  network.peer.say("error", { code: "room_full", message: "full", fatal: false });
  assert.deepEqual(network.events.at(-1), { kind: "ended", reason: "room_full", text: "full" });
  assert.equal(room.phase, "ended");
});

test("a rejected token is renewed once", async () => {
  const network = new Network();
  const room = network.room();
  room.setInput({ thrust: true });
  await settled();
  network.peer.say("error", { code: "unauthenticated", message: "who?", fatal: false });
  await network.time.pass(10);
  assert.deepEqual(network.tokens, [false, true]);
  network.peer.say("welcome", WELCOME);
  await network.time.pass(100);
  assert.ok(network.peer.inputs.length > 0, "the input is preserved");
  const other = new Network();
  const refused = other.room();
  await settled();
  for (let time = 0; time < 2; time += 1) {
    other.peer.say("error", { code: "unauthenticated", message: "who?", fatal: false });
    await other.time.pass(10);
  }
  assert.equal(refused.phase, "ended");
  assert.equal(other.events.at(-1).reason, "unauthenticated");
});

test("without any token the room ends; a resume token is enough to resume", async () => {
  const network = new Network();
  const room = network.room({ token: async () => Promise.reject(new AetherError("signed_out", "nobody")) });
  await settled();
  assert.equal(room.phase, "ended");
  const other = new Network();
  let fails = false;
  await other.joined({ token: async () => (fails ? Promise.reject(new AetherError("unavailable", "down")) : "token") });
  fails = true;
  other.peer.cut();
  await other.time.pass(300);
  assert.deepEqual(other.peer.of("hello")[0].payload, { resumeToken: "resume-1" });
});

test("silence means a dead connection", async () => {
  const network = new Network();
  await network.joined();
  await network.time.pass(5_900);
  assert.equal(network.peers.length, 1);
  await network.time.pass(500);
  assert.equal(network.peers.length, 2);
  assert.ok(network.peers[0].of("ping").length >= 11, "two pings a second");
});

test("a suspended page pings before it reconnects", async () => {
  const network = new Network();
  await network.joined();
  network.time.sleep(600_000);
  await network.time.pass(100);
  assert.equal(network.peers.length, 1, "suspended time is not silence");
  network.notice("shown");
  const asked = network.peer.of("ping").at(-1);
  network.peer.say("pong", { tick: 0, serverTick: 9, holdUs: 0 }, { clientTime: asked.clientTime });
  await network.time.pass(3_000);
  assert.equal(network.peers.length, 1);
  network.time.sleep(600_000);
  network.notice("shown");
  await network.time.pass(2_300);
  assert.equal(network.peers.length, 2, "no answer within two seconds means a dead connection");
  assert.deepEqual(network.peer.of("hello")[0].payload, { resumeToken: "resume-1" });
});

test("received messages send inputs and pings without timers", async () => {
  const network = new Network();
  const room = await network.joined();
  room.setInput({ thrust: true });
  for (let tick = 2; tick <= 80; tick += 2) {
    network.time.sleep(50);
    network.peer.say("snapshot", snapshot(tick, []));
  }
  assert.ok(network.peer.inputs.length >= 78, `${network.peer.inputs.length} inputs in two seconds`);
  assert.ok(network.peer.of("ping").length >= 4);
});

test("a visible page retries at once", async () => {
  const network = new Network();
  await network.joined();
  network.webSocket = "fail";
  network.peer.cut();
  await network.time.pass(30_000);
  network.webSocket = "open";
  network.notice("online");
  await settled();
  assert.equal(network.peers.length, 2);
});

test("WebTransport is tried first, then WebSocket", async () => {
  for (const [fate, afterMs] of [["fail", 0], ["hang", 3_000]]) {
    const network = new Network();
    network.webTransport = fate;
    const room = network.room();
    await network.time.pass(afterMs);
    assert.equal(network.peer.kind, "websocket");
    network.peer.say("welcome", WELCOME);
    assert.equal(room.statistics.transport, "websocket");
    network.webTransport = "open";
    network.peer.cut();
    await network.time.pass(300);
    assert.equal(network.peer.kind, "websocket", "after a failure it is not tried again soon");
    network.peer.say("welcome", WELCOME);
    room.switchTransport("webtransport");
    await settled();
    assert.equal(network.peer.kind, "webtransport");
  }
});

test("WebSocket is used after a WebTransport connection without a welcome", async () => {
  const network = new Network();
  network.webTransport = "open";
  network.room();
  await network.time.pass(8_000);
  assert.equal(network.peer.kind, "webtransport");
  await network.time.pass(1_000);
  assert.equal(network.peer.kind, "websocket");
});

test("an unavailable required transport ends the room", async () => {
  const network = new Network();
  const room = network.room({ wish: "webtransport" });
  await settled();
  assert.equal(room.phase, "ended");
  assert.equal(network.events.at(-1).reason, "unsupported");
});

test("leaving notifies the server, waits for the close, and leaves no timers", async () => {
  const network = new Network();
  const room = await network.joined();
  let isOver = false;
  const left = room.leave().then(() => (isOver = true));
  assert.equal(network.peer.of("leave").length, 1);
  assert.ok(network.peer.isOpen);
  await settled();
  assert.equal(isOver, false);
  network.peer.cut();
  await left;
  assert.deepEqual(network.events.at(-1), { kind: "ended", reason: "left", text: "You left the room." });
  assert.equal(network.time.waiting, 0);
  const other = new Network();
  const slow = await other.joined();
  const gone = slow.leave();
  await other.time.pass(1_000);
  await gone;
  assert.equal(other.peer.isOpen, false);
});

test("leaving during a connection attempt ends the room", async () => {
  const network = new Network();
  network.webSocket = "hang";
  const room = network.room();
  await settled();
  await room.leave();
  network.webSocket = "open";
  await network.time.pass(60_000);
  assert.equal(network.peers.length, 0);
  assert.equal(network.time.waiting, 0);
});

test("entities leave when the world is cleared", async () => {
  const network = new Network();
  await network.joined();
  network.peer.say("snapshot", snapshot(2, [{ id: 7, position: [1, 2] }], { mode: "full" }));
  network.peer.say("cleared", { tick: 3 });
  network.peer.say("snapshot", snapshot(4, [{ id: 9, position: [1, 2] }], { removed: [7] }));
  const changes = network.events.flatMap(({ kind, entity }) => (kind === "enter" || kind === "leave" ? [[kind, entity]] : []));
  assert.deepEqual(changes, [["enter", 7], ["leave", 7], ["enter", 9]]);
});

test("round trip, jitter, clock offset and loss are measured", async () => {
  const network = new Network();
  const room = await network.joined();
  const { clockOffsetMs, loss } = room.statistics;
  assert.deepEqual([clockOffsetMs, loss], [undefined, 0]);
  await network.time.pass(1_000);
  const { clientTime } = network.peer.of("ping").at(-1);
  const nowMs = network.time.nowMs();
  network.peer.say("snapshot", snapshot(400, [], { mode: "full" }));
  network.peer.say("pong", { tick: 0, serverTick: 400, holdUs: 0 }, { clientTime });
  const { roundTripMs } = room.statistics;
  // 40 ticks a second: tick 400 is at ten seconds of the room.
  assert.ok(Math.abs(room.statistics.clockOffsetMs - (10_000 + roundTripMs / 2 - nowMs)) < 1);
});

test("async iterators get events in order, bounded", async () => {
  const network = new Network();
  const room = await network.joined();
  const ticks = room.events("snapshot");
  const slow = room.events();
  for (let tick = 1; tick <= 33_000; tick += 1) network.peer.say("snapshot", snapshot(tick, []));
  assert.equal(slow.dropped, 33_000 - 32_768);
  assert.equal((await ticks.next()).value.tick, 33_000 - 32_768 + 1);
  await ticks.return();
  const seen = [];
  const loop = (async () => {
    for await (const event of room) seen.push(event.kind);
  })();
  network.peer.say("possession", { tick: 1, entity: 2 });
  network.peer.say("closing", { reason: "kicked", text: "out", deadlineMs: 0, mayResume: false });
  network.peer.cut();
  await loop;
  assert.deepEqual(seen, ["possession", "closing", "ended"]);
  await assert.rejects(room.next("snapshot"), /over/);
});

test("member events of a relay room differ from messages", async () => {
  const network = new Network();
  await network.joined({}, { tickHz: 0, snapshotHz: 0 });
  const say = (code, data, sender) => network.peer.say("event", { tick: 0, code, data: btoa(data), sender });
  say(65_534, "bob", 2);
  say(7, "hi", 2);
  say(65_535, "", 2);
  assert.deepEqual(network.events.slice(-3), [
    { kind: "member", player: 2, isHere: true, name: "bob" },
    { kind: "message", tick: 0, code: 7, bytes: new TextEncoder().encode("hi"), sender: 2 },
    { kind: "member", player: 2, isHere: false, name: "" },
  ]);
});

test("WebSocket is used if the WebTransport address is unknown", async () => {
  const network = new Network();
  network.webTransport = "unknown";
  network.room();
  await settled();
  assert.equal(network.peer.kind, "websocket");
});

test("without interpolation the newest state is shown; `surroundings` always has it", async () => {
  const network = new Network();
  const room = await network.joined({ motions: { movement: { position: "linear" } } });
  network.peer.say("snapshot", snapshot(40, [{ id: 7, position: [0, 0] }]));
  await network.time.pass(50);
  const { surroundings } = room;
  const before = surroundings.version("movement");
  network.peer.say("snapshot", snapshot(42, [{ id: 7, position: [8, 0] }]));
  assert.notEqual(surroundings.version("movement"), before);
  assert.deepEqual([...surroundings.entities("movement")], [{ id: 7, fields: { position: [8, 0] } }]);
  assert.ok(room.entity("movement", 7).fields.position[0] < 8, "interpolated");
  room.settings = { interpolation: false };
  assert.deepEqual(room.entity("movement", 7).fields.position, [8, 0]);
  assert.deepEqual(room.settings, { prediction: true, reconciliation: true, interpolation: false });
  assert.equal(room.statistics.corrections, 0);
});
