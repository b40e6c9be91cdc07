// One server for each test file, and its answers as sent.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Client } from "@heroiclabs/nakama-js";
import { serveProgram } from "../../../testing/server.mjs";

const DATABASE = process.env.AETHER_DATABASE_URL;

/** Last answer as sent; the SDK exposes less of it. */
export const wire = { status: 0, headers: new Headers(), text: "" };

const sent = globalThis.fetch;
globalThis.fetch = async (...request) => {
  const response = await sent(...request);
  wire.status = response.status;
  wire.headers = response.headers;
  wire.text = await response.clone().text();
  return response;
};

// The SDK never clears its request timers; they must not keep the tests from ending.
const { setTimeout: timer } = globalThis;
globalThis.setTimeout = (...call) => timer(...call).unref();

/** Returns the last answer as JSON. */
export function answered() {
  return JSON.parse(wire.text);
}

/** Starts a server before the tests of a file and removes it after them; with a database, if one is set. */
export function serve(...settings) {
  return serveProgram("AETHER_PROGRAM", ...database(), ...settings);
}

/** Does so with a program that has functions. */
export function serveFunctions(...settings) {
  return serveProgram("AETHER_FUNCTIONS_PROGRAM", ...database(), ...settings);
}

function database() {
  return DATABASE ? [`database.url=${DATABASE}`] : [];
}

/** Returns a client of the SDK. */
export function client(server, key = "defaultkey") {
  return new Client(key, server.host, server.port, false);
}

/** Returns a unique name, also on a reused database. */
export function fresh(word) {
  return `${word}-${randomUUID()}`;
}

/** Creates a user; returns its client and session. */
export async function user(server, word = "user") {
  const own = client(server);
  const session = await own.authenticateDevice(fresh("device"), true, fresh(word));
  return { client: own, session, id: session.user_id, name: session.username };
}

const STATUS_OF_CODE = { 3: 400, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 12: 501, 14: 503, 16: 401 };

/** Asserts that a call is rejected, in the exact format that clients know. */
export async function refused(call, code, message) {
  const response = await call.then(
    () => assert.fail("it was not refused"),
    (thrown) => thrown,
  );
  assert.ok(response instanceof Response, `the SDK throws the response, not ${response}`);
  const body = JSON.parse(wire.text);
  assert.deepEqual(Object.keys(body).sort(), ["code", "message"]);
  assert.equal(body.code, code, body.message);
  assert.equal(response.status, STATUS_OF_CODE[code], body.message);
  if (message instanceof RegExp) assert.match(body.message, message);
  else if (message) assert.equal(body.message, message);
  assert.ok(body.message.length > 0);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(response.headers.get("www-authenticate"), code === 16 ? body.message : null);
}

/** Asserts that a string is a recent RFC 3339 time. */
export function justNow(text) {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  const seconds = Math.abs(Date.now() - Date.parse(text)) / 1000;
  assert.ok(seconds < 60, `${text} is ${seconds} s from now`);
}

/** Sends a request without the SDK. */
export function send(server, method, path, { token, key, body, headers = {} } = {}) {
  const authorization = token ? `Bearer ${token}` : key ? `Basic ${btoa(`${key}:`)}` : undefined;
  const all = { ...(authorization && { authorization }), ...headers };
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return fetch(server.url + path, { method, headers: all, body: text });
}
