// WebSocket transport with a given class: sent messages, and back-pressure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { webSocketAt } from "../../dist/index.js";

class Socket {
  static last;
  readyState = 1;
  bufferedAmount = 0;
  sent = [];
  closed = [];

  constructor(url, protocol) {
    Object.assign(this, { url, protocol });
    Socket.last = this;
  }

  send(data) {
    this.sent.push(data);
  }

  close(code) {
    this.closed.push(code);
  }
}

async function open(encoding = "json") {
  const seen = { messages: [], ends: [] };
  const events = { message: (bytes) => seen.messages.push(bytes), closed: (end) => seen.ends.push(end) };
  const opening = webSocketAt("wss://play.example.com/rt", Socket)(encoding, events, new AbortController().signal);
  const socket = Socket.last;
  socket.onopen();
  return { transport: await opening, socket, seen };
}

const bytes = (text) => new TextEncoder().encode(text);

test("JSON is sent as text and protobuf as bytes, with their subprotocols", async () => {
  const json = await open();
  json.transport.sendReliable(bytes('{"é":1}'));
  assert.deepEqual([json.socket.protocol, json.socket.sent], ["aether.v2.json", ['{"é":1}']]);
  json.socket.onmessage({ data: '{"ü":2}' });
  assert.deepEqual(json.seen.messages, [bytes('{"ü":2}')]);
  const protobuf = await open("protobuf");
  protobuf.transport.sendReliable(Uint8Array.of(1, 2));
  assert.deepEqual([protobuf.socket.protocol, protobuf.socket.sent], ["aether.v2.protobuf", [Uint8Array.of(1, 2)]]);
  protobuf.socket.onmessage({ data: Uint8Array.of(3).buffer });
  assert.deepEqual(protobuf.seen.messages, [Uint8Array.of(3)]);
});

test("back-pressure drops unreliable messages, and closes the transport beyond its limit", async () => {
  const { transport, socket, seen } = await open();
  socket.bufferedAmount = 65_537;
  transport.sendUnreliable(bytes("1"));
  assert.deepEqual(socket.sent, []);
  transport.sendReliable(bytes("2"));
  assert.deepEqual(socket.sent, ["2"]);
  assert.equal(transport.waitingBytes, 65_537);
  socket.bufferedAmount = 1_048_577;
  transport.sendReliable(bytes("3"));
  assert.deepEqual(socket.sent, ["2"]);
  assert.equal(seen.ends.length, 1);
  assert.deepEqual(socket.closed, [1000]);
});

test("the end is reported once, with code and text", async () => {
  const { transport, socket, seen } = await open();
  socket.onclose({ code: 4008, reason: "out" });
  socket.onclose({ code: 4008, reason: "out" });
  transport.close();
  assert.deepEqual(seen.ends, [{ code: 4008, text: "out" }]);
  const broken = await open();
  broken.socket.onclose({ code: 1006, reason: "" });
  assert.deepEqual(broken.seen.ends, [{ code: undefined, text: "The connection was lost." }]);
});

test("an oversized message closes the transport", async () => {
  const { socket, seen } = await open();
  socket.onmessage({ data: "x".repeat(1_048_577) });
  assert.deepEqual([seen.messages.length, seen.ends.length], [0, 1]);
});

test("a failed or aborted opening rejects", async () => {
  const ending = new AbortController();
  const failed = webSocketAt("ws://x/rt", Socket)("json", {}, ending.signal).catch((error) => error);
  Socket.last.onclose({ code: 1006, reason: "" });
  assert.equal((await failed).code, "unreachable");
  const given = webSocketAt("ws://x/rt", Socket)("json", {}, ending.signal).catch((error) => error);
  ending.abort(new Error("enough"));
  assert.equal((await given).message, "enough");
  assert.equal(Socket.last.closed.length, 1);
});

test("a socket that does not open is unreachable, with or without a close event", async () => {
  for (const fail of [(socket) => socket.onerror(), (socket) => socket.onclose({ code: 1006, reason: "" })]) {
    const opening = webSocketAt("ws://x/rt", Socket)("json", {}, new AbortController().signal).catch((error) => error);
    fail(Socket.last);
    assert.equal((await opening).code, "unreachable");
  }
});
