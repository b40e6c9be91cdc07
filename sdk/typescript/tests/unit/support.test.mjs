// Missing features give helpful errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, hasWebTransport, webSocketAt } from "../../dist/index.js";

test("without a WebSocket class the error says what to do", async () => {
  const { WebSocket: known } = globalThis;
  globalThis.WebSocket = undefined;
  try {
    const open = webSocketAt("ws://127.0.0.1:9/rt");
    const error = await open("json", {}, new AbortController().signal).catch((thrown) => thrown);
    assert.equal(error.code, "unsupported");
    assert.match(error.message, /--experimental-websocket/);
  } finally {
    globalThis.WebSocket = known;
  }
});

test("outside a page there is a default server URL", () => {
  assert.equal(new Client().requests.url, "http://127.0.0.1:7350");
  assert.equal(new Client({ url: "https://play.example.com/" }).requests.url, "https://play.example.com");
  assert.equal(hasWebTransport(), false);
});
