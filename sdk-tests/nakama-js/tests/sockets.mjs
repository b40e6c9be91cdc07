// Sockets of the SDK in both formats, and what they receive.

import assert from "node:assert/strict";
import { WebSocketAdapterText } from "@heroiclabs/nakama-js";
import { WebSocketAdapterPb } from "@heroiclabs/nakama-js-protobuf";
import { user } from "./server.mjs";

/** Generous, because the machine may be busy. */
const WAIT_MS_MAX = 30_000;

export const FORMATS = [
  ["json", () => new WebSocketAdapterText()],
  ["protobuf", () => new WebSocketAdapterPb()],
];

/** Messages that a socket receives, in order. */
export class Received {
  #messages = [];
  #waiting = [];

  push(message) {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#messages.push(message);
    else waiting(message);
  }

  /** Number of messages that wait. */
  get length() {
    return this.#messages.length;
  }

  next() {
    if (this.#messages.length > 0) return Promise.resolve(this.#messages.shift());
    return new Promise((resolve, reject) => {
      const late = setInterval(() => reject(new Error("no message arrived in time")), WAIT_MS_MAX);
      this.#waiting.push((message) => {
        clearInterval(late);
        resolve(message);
      });
    });
  }
}

/** Events of a socket by the name of its handler. */
const EVENTS = {
  channelMessages: "onchannelmessage",
  channelPresences: "onchannelpresence",
  notifications: "onnotification",
  parties: "onparty",
  partyPresences: "onpartypresence",
  partyLeaders: "onpartyleader",
  partyRequests: "onpartyjoinrequest",
  partyTickets: "onpartymatchmakerticket",
  partyData: "onpartydata",
  partyCloses: "onpartyclose",
  matches: "onmatchmakermatched",
  matchData: "onmatchdata",
  matchPresences: "onmatchpresence",
  statuses: "onstatuspresence",
  notifications: "onnotification",
  ends: "ondisconnect",
};

/** Connects a socket of a user, and collects its events. */
export async function connect(of, adapter, appearOnline = false) {
  const socket = of.client.createSocket(false, false, adapter());
  const events = {};
  for (const [name, handler] of Object.entries(EVENTS)) {
    const received = (events[name] = new Received());
    socket[handler] = (event) => received.push(event);
  }
  socket.onerror = () => {};
  await socket.connect(of.session, appearOnline);
  return { socket, ...events };
}

/** Creates a user and connects its socket. */
export async function player(server, adapter) {
  const of = await user(server);
  return { ...of, ...(await connect(of, adapter)) };
}

/** Answers of the server arrive in order, so nothing that it sent before is still on its way afterwards. */
export function settled(...players) {
  return Promise.all(players.map(({ socket }) => socket.send({ ping: {} })));
}

/** Disconnects players. */
export function leave(...players) {
  for (const { socket } of players) socket.disconnect(false);
}

/** Returns the users of presences, sorted. */
export function users(presences) {
  return (presences ?? []).map(({ user_id }) => user_id).sort();
}

/** Asserts that a request is rejected with a code of the protocol. */
export async function rejected(request, code, message) {
  const error = await request.then(() => assert.fail("it was not rejected"), (thrown) => thrown);
  assert.equal(error.code ?? 0, code, JSON.stringify(error));
  if (message instanceof RegExp) assert.match(error.message, message);
  else assert.equal(error.message, message);
}
