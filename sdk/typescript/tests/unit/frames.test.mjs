// Messages on a stream, and fragments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader, frame } from "../../dist/realtime/transport/frames.js";
import { Fragments, cut } from "../../dist/realtime/json/fragments.js";

test("messages are reassembled from any stream chunks", () => {
  const messages = [1, 127, 128, 300, 20_000].map((length) => new Uint8Array(length).fill(length % 251));
  const stream = Buffer.concat(messages.map((message) => frame(message)));
  for (const step of [1, 3, 1000, stream.length]) {
    const reader = new FrameReader(1_048_576);
    const read = [];
    for (let at = 0; at < stream.length; at += step) read.push(...reader.push(stream.subarray(at, at + step)));
    assert.deepEqual(read.map((part) => Buffer.from(part)), messages.map((message) => Buffer.from(message)));
  }
});

test("an invalid length is rejected", () => {
  assert.throws(() => new FrameReader(100).push(frame(new Uint8Array(101))), /exceeds the limit/);
  assert.throws(() => new FrameReader(100).push(Uint8Array.of(0xff, 0xff, 0xff, 0xff)), /too many/);
  assert.throws(() => new FrameReader(100).push(Uint8Array.of(0)), /0/);
  assert.throws(() => new FrameReader(100).push(Uint8Array.of(0x85, 0)), /shortest/);
});

test("fragments are joined in any order, and repeats are ignored", () => {
  const message = crypto.getRandomValues(new Uint8Array(1_000));
  const parts = cut(7, message);
  assert.equal(parts.length, 4);
  const fragments = new Fragments();
  for (const part of [parts[3], parts[0], parts[0], parts[2]]) assert.equal(fragments.add(part), undefined);
  assert.deepEqual(fragments.add(parts[1]), message);
});

test("invalid fragments are rejected, and incomplete messages are dropped", () => {
  const fragments = new Fragments();
  assert.throws(() => fragments.add({ message: 1, index: 3, total: 3, data: "" }));
  assert.throws(() => fragments.add({ message: 1, index: 0, total: 257, data: "" }));
  assert.throws(() => fragments.add({ message: 1, index: 0, total: 0, data: "" }));
  for (let message = 1; message <= 5; message += 1) fragments.add({ message, index: 0, total: 2, data: "YQ==" });
  assert.equal(fragments.add({ message: 1, index: 1, total: 2, data: "YQ==" }), undefined, "the oldest was dropped");
  assert.throws(() => cut(1, new Uint8Array(65_537)), /exceeds the limit/);
});
