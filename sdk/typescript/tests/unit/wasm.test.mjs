// The WASM core outside a room; the rest needs a server that speaks protobuf.
import assert from "node:assert/strict";
import { test } from "node:test";
import { WasmCore, loadWasm } from "../../dist/index.js";
import { VirtualTime } from "../support/time.mjs";

async function core(options = {}) {
  return new WasmCore(await loadWasm(), { time: new VirtualTime(), ...options });
}

function sent(core, nowMs) {
  const messages = [];
  core.advance(nowMs, (bytes, isReliable) => messages.push({ text: new TextDecoder("latin1").decode(bytes), isReliable }));
  return messages;
}

test("the module is loaded once", async () => {
  assert.equal(await loadWasm(), await loadWasm());
});

test("the hello has the token and the room", async () => {
  for (const [room, text] of [[{ id: "room-1" }, "room-1"], [{ code: "K7QX" }, "K7QX"], [{ type: { name: "arena", label: "eu" } }, "arena"]]) {
    const made = await core({ room });
    assert.deepEqual([made.encoding, made.phase, made.retryAtMs <= 1_000], ["protobuf", "connecting", true]);
    made.setToken("token-1");
    made.connected("ordered", 1_000);
    assert.equal(made.retryAtMs, undefined);
    const [hello, ...rest] = sent(made, 1_000);
    assert.ok(hello.isReliable && hello.text.includes("token-1") && hello.text.includes(text), JSON.stringify(hello));
    assert.deepEqual(rest, []);
  }
});

test("a failed connection is retried, and invalid messages are counted", async () => {
  const made = await core();
  made.connected("unordered", 1_000);
  sent(made, 1_000);
  made.receive(Uint8Array.of(255, 255, 255), 1_000);
  assert.equal(made.statistics.faults, 1);
  made.disconnected("cut", 2_000);
  assert.ok(made.retryAtMs > 2_000 && made.retryAtMs < 3_000);
  assert.deepEqual(made.takeEvents(), [], "no lost event before a join");
});

test("outside a room there are no entities and no commands", async () => {
  const made = await core({ rules: { channel: "movement", step: () => undefined } });
  made.setInput({ anything: true });
  assert.equal(made.command({ feature: "build", action: "place" }), undefined);
  assert.deepEqual([[...made.entities("movement")], made.entity("movement", 1), made.ownEntity, made.tick], [[], undefined, undefined, 0]);
  const { roundTripMs, corrections, inputSeq, pendingInputs } = made.statistics;
  assert.deepEqual([roundTripMs, corrections, inputSeq, pendingInputs], [undefined, 0, 0, 0]);
  made.settings = { prediction: false, reconciliation: true, interpolation: false };
  assert.equal(made.settings.prediction, false);
  made.leave();
  assert.deepEqual(made.takeEvents(), [{ kind: "ended", reason: "left", text: "You left the room." }]);
  assert.deepEqual([made.phase, made.retryAtMs], ["ended", undefined]);
});
