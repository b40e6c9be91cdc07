// The connection of the services socket in memory, in virtual time: requests, heartbeats, losses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AetherError, Client, memoryStore } from "../../dist/index.js";
import { Answers, token } from "../support/answers.mjs";
import { SocketNetwork, outcome } from "../support/socket_network.mjs";
import { VirtualTime, settled } from "../support/time.mjs";

/** WebSocket class that records its sockets and opens none by itself. */
function webSocketClass() {
  return class WebSocket {
    static made = [];
    readyState = 1;
    bufferedAmount = 0;

    constructor(url, protocols) {
      Object.assign(this, { url, protocols });
      this.constructor.made.push(this);
    }

    send() {}

    close() {
      this.isClosed = true;
    }
  };
}

/** Creates a client whose server signs everyone in. */
function clientOf(time) {
  const answers = new Answers(({ path }) => [200, path.startsWith("/v2/account/") ? { token: token({}), refresh_token: "r" } : { user: { id: "u1" } }]);
  return { answers, client: new Client({ url: "https://play.example.com", fetch: answers.fetch, time, store: memoryStore() }) };
}

test("a client signs in and opens a socket with its token, without a subprotocol", async () => {
  const time = new VirtualTime();
  const { client } = clientOf(time);
  const webSocket = webSocketClass();
  const opening = outcome(client.openSocket({ webSocket }));
  await settled();
  const [made] = webSocket.made;
  assert.equal(made.url, `wss://play.example.com/ws?format=json&token=${encodeURIComponent(token({}))}`);
  assert.equal(made.protocols, undefined);
  made.onopen();
  await settled();
  assert.equal(opening.value.phase, "connected");
});

test("opening is tried again, with a checked token, until its time limit or its signal", async () => {
  const time = new VirtualTime();
  const { client, answers } = clientOf(time);
  const webSocket = webSocketClass();
  const opening = outcome(client.openSocket({ webSocket, timeoutMs: 5_000 }));
  await settled();
  webSocket.made[0].onclose({ code: 1006, reason: "" });
  await time.pass(200);
  assert.equal(answers.asked.filter(({ path }) => path === "/v2/account").length, 1);
  assert.equal(webSocket.made.length, 2);
  await time.pass(5_000);
  assert.deepEqual([opening.error.code, opening.error.message], ["timed_out", "The server cannot be reached; check its URL and the network."]);
  assert.equal(webSocket.made[1].isClosed, true);
  assert.equal(time.waiting, 0);
  const aborted = outcome(client.openSocket({ webSocket, signal: AbortSignal.abort(new Error("enough")) }));
  await settled();
  assert.equal(aborted.error.message, "enough");
});

test("a socket connects with a token and shows the player online", async () => {
  const network = new SocketNetwork();
  const socket = network.socket({ status: "in the lobby" });
  assert.equal(socket.phase, "connecting");
  await settled();
  assert.equal(socket.phase, "connected");
  assert.deepEqual(network.peer.sent, [{ cid: "1", name: "status_update", fields: { status: "in the lobby" } }]);
  assert.deepEqual(network.events, [{ kind: "connected", isReconnect: false, notRestored: [] }]);
  const hidden = new SocketNetwork();
  await hidden.connected();
  assert.deepEqual(hidden.peer.sent, [], "without a status nothing is sent");
});

test("requests are answered by their number, in any order", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const [one, other] = [outcome(socket.rpc("one", "1")), outcome(socket.rpc("other"))];
  const [first, second] = network.peer.of("rpc");
  assert.deepEqual([first.fields, second.fields], [{ id: "one", payload: "1" }, { id: "other" }]);
  network.peer.say({ cid: second.cid, rpc: { id: "other", payload: "b" } });
  network.peer.say({ cid: first.cid, rpc: { id: "one" } });
  network.peer.say({ cid: "99", rpc: { payload: "unknown" } });
  await settled();
  assert.deepEqual([one.value, other.value], ["", "b"]);
});

test("errors have the codes of the protocol", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const cases = [
    [{ message: "m" }, ["runtime_exception", "m"]],
    [{ code: 3, message: "bad" }, ["bad_input", "bad"]],
    [{ code: 6 }, ["runtime_function_not_found", "The server rejected the request."]],
    [{ code: 99, message: "new" }, ["unknown", "new"]],
  ];
  for (const [error, expected] of cases) {
    const end = outcome(socket.rpc("f"));
    network.peer.answer("rpc", { error });
    await settled();
    assert.ok(end.error instanceof AetherError);
    assert.deepEqual([end.error.code, end.error.message], expected);
  }
  network.peer.say({ error: { code: 0, message: "Too many messages." } });
  await settled();
  assert.equal(network.of("error")[0].error.message, "Too many messages.", "an error without a request is an event");
});

test("a request ends with its time limit or its signal", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const late = outcome(socket.rpc("slow"));
  const short = outcome(socket.rpc("slow", "", { timeoutMs: 1_000 }));
  const ending = new AbortController();
  const aborted = outcome(socket.rpc("slow", "", { signal: ending.signal }));
  ending.abort(new Error("enough"));
  await network.time.pass(1_000);
  assert.deepEqual([aborted.error.message, short.error.code, late.error], ["enough", "timed_out", undefined]);
  await network.time.pass(9_000);
  assert.equal(late.error.code, "timed_out");
  const before = outcome(socket.rpc("never", "", { signal: AbortSignal.abort(new Error("before")) }));
  await settled();
  assert.equal(before.error.message, "before");
  assert.equal(network.peer.of("rpc").filter(({ fields }) => fields.id === "never").length, 0);
});

test("requests without an answer and the length of messages are limited", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const ends = Array.from({ length: 65 }, () => outcome(socket.rpc("f")));
  await settled();
  assert.deepEqual(ends.map(({ error }) => error?.code).filter((code) => code !== undefined), ["limit_reached"]);
  assert.equal(network.peer.of("rpc").length, 64);
  network.peer.answer("rpc");
  await settled();
  const long = outcome(socket.rpc("f", "x".repeat(65_536)));
  await settled();
  assert.equal(long.error.code, "limit_reached");
  assert.match(long.error.message, /65536/);
  assert.equal(socket.phase, "connected", "the server would have closed the socket");
});

test("nothing is queued while the connection is lost", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const open = outcome(socket.rpc("f"));
  network.peer.cut();
  await settled();
  assert.equal(open.error.code, "disconnected");
  const end = outcome(socket.rpc("f"));
  await settled();
  assert.deepEqual([end.error.code, end.error.message], ["disconnected", "The socket is not connected; wait for the event `connected`."]);
  await network.time.pass(200);
  assert.equal(network.peers.length, 2);
  assert.deepEqual(network.peer.of("rpc"), []);
  assert.equal(network.time.waiting, 1, "only the timer of the next ping is left");
});

test("a lost connection is opened again with a backoff, which a good connection resets", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  network.peer.cut("gone");
  network.fate = "fail";
  await settled();
  assert.equal(socket.phase, "waiting");
  assert.deepEqual(network.kinds(), ["connected", "lost"]);
  const attempts = [];
  for (let elapsed = 0; elapsed < 20_000; elapsed += 100) {
    const { length } = network.tokens;
    await network.time.pass(100);
    if (network.tokens.length > length) attempts.push(elapsed + 100);
  }
  assert.deepEqual(attempts, [200, 600, 1_400, 3_000, 6_200, 11_200, 16_200]);
  network.fate = "open";
  await network.time.pass(5_000);
  assert.equal(socket.phase, "connected");
  assert.deepEqual(network.events.at(-1), { kind: "connected", isReconnect: true, notRestored: [] });
  network.peer.cut();
  const { length } = network.peers;
  await network.time.pass(4_900);
  assert.equal(network.peers.length, length, "a connection of a moment resets nothing");
  await network.time.pass(100);
  await network.time.pass(5_000);
  network.peer.cut();
  await network.time.pass(200);
  assert.equal(network.peers.length, length + 2);
});

test("after a failed attempt the token is checked before it is used again", async () => {
  const network = new SocketNetwork();
  network.fate = "fail";
  network.socket();
  await network.time.pass(200);
  network.fate = "open";
  await network.time.pass(400);
  network.peer.cut();
  await network.time.pass(5_000);
  assert.deepEqual(network.tokens, [false, true, true, false]);
});

test("a user whom the server does not accept any more ends the socket", async () => {
  const network = new SocketNetwork();
  const refusal = new AetherError("unauthenticated", "Auth token invalid", { status: 401 });
  let isOver = false;
  const socket = await network.connected({ token: async () => (isOver ? Promise.reject(refusal) : "token-1") });
  isOver = true;
  network.peer.cut("Your session has ended.");
  await network.time.pass(60_000);
  assert.equal(socket.phase, "ended");
  assert.deepEqual(network.events.slice(1), [
    { kind: "lost", text: "Your session has ended." },
    { kind: "ended", reason: "unauthenticated", text: "Auth token invalid" },
  ]);
  assert.deepEqual([network.peers.length, network.time.waiting, network.occasions.size], [1, 0, 0]);
  await assert.rejects(socket.next("connected"), { code: "disconnected", message: "The socket is closed." });
});

test("a silent server is noticed, and one that answers pings is not", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  await network.time.pass(60_000);
  assert.deepEqual([socket.phase, network.peers.length, network.peer.of("ping").length], ["connected", 1, 12]);
  network.answers.ping = undefined;
  await network.time.pass(14_900);
  assert.equal(network.peer.of("ping").length, 14);
  assert.equal(socket.phase, "connected");
  await network.time.pass(300);
  assert.equal(network.peers.length, 2);
  assert.equal(network.of("lost")[0].text, "The server went silent.");
});

test("a page that was suspended checks its connection at once", async () => {
  const network = new SocketNetwork();
  await network.connected();
  network.answers.ping = undefined;
  network.time.sleep(3_600_000);
  network.notice("shown");
  await network.time.pass(1_900);
  network.peer.say({ pong: {} });
  await network.time.pass(4_000);
  assert.equal(network.peers.length, 1, "the server has answered");
  network.time.sleep(3_600_000);
  network.notice("shown");
  await network.time.pass(2_300);
  assert.equal(network.peers.length, 2, "the server has not answered within two seconds");
});

test("a network that is back ends the pause before the next attempt", async () => {
  const network = new SocketNetwork();
  await network.connected();
  network.fate = "fail";
  network.peer.cut();
  await network.time.pass(12_000);
  network.fate = "open";
  network.notice("online");
  await settled();
  assert.equal(network.peers.length, 2);
});

test("the socket is closed for good, also while it connects", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  socket.close();
  socket.close();
  await network.time.pass(60_000);
  assert.deepEqual([socket.phase, network.peers.length, network.peer.isOpen, network.time.waiting], ["ended", 1, false, 0]);
  assert.deepEqual(network.events.at(-1), { kind: "ended", reason: "closed", text: "You closed the socket." });
  const connecting = new SocketNetwork();
  connecting.fate = "hang";
  const never = connecting.socket();
  await settled();
  never.close();
  await connecting.time.pass(60_000);
  assert.deepEqual([connecting.kinds(), connecting.time.waiting], [["ended"], 0]);
});

test("messages that cannot be read are counted and dropped", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  for (const text of ["", "{", "null", "7"]) network.peer.events.message(new TextEncoder().encode(text));
  for (const message of [{}, { news: {} }, { party: {} }, { match_data: {} }, { party_data: { party_id: "x" } }, { status_presence_event: {} }]) network.peer.say(message);
  await settled();
  assert.deepEqual([socket.faults, socket.phase], [4, "connected"]);
});

test("server code reaches the player by streams and notifications", async () => {
  const network = new SocketNetwork();
  await network.connected();
  network.peer.say({ stream_data: { stream: { mode: 64, label: "zone-7" }, data: "storm", reliable: true } });
  network.peer.say({ stream_presence_event: { stream: { mode: 64 }, joins: [{ user_id: "u", session_id: "s", username: "ann" }] } });
  network.peer.say({ notifications: { notifications: [{ id: "n", subject: "hello", content: "{}", code: 7, create_time: "2026-01-01T00:00:00Z" }] } });
  await settled();
  const stream = { mode: 64, subject: "", subcontext: "", label: "zone-7" };
  assert.deepEqual(network.events.slice(1), [
    { kind: "stream_data", stream, sender: undefined, data: "storm" },
    { kind: "stream_members", stream: { ...stream, label: "" }, joins: [{ userId: "u", sessionId: "s", username: "ann", status: undefined }], leaves: [] },
    {
      kind: "notifications",
      notifications: [{ id: "n", subject: "hello", content: "{}", code: 7, senderId: "", createdAt: new Date("2026-01-01T00:00:00Z"), isPersistent: false }],
    },
  ]);
});
