// Lua modules of the server: functions, hooks, notifications, streams, leaderboards and matches.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { answered, client, fresh, refused, send, serve, user, wire } from "./server.mjs";
import { FORMATS, leave, player, rejected, users } from "./sockets.mjs";

const KEY = "a0e1f2c3d4b5a6978899";
const modules = fileURLToPath(new URL("../modules", import.meta.url));
const server = serve(`script.folder=${modules}`, "script.environment=colour=red", `api.http_key=${KEY}`, "matchmaker.interval_ms=100");

/** Asserts that a call of a function is rejected. */
async function failed(call, status, code, message) {
  const response = await call.then(() => assert.fail("it was not refused"), (thrown) => thrown);
  assert.equal(response.status, status, wire.text);
  assert.equal(answered().code, code, wire.text);
  if (message instanceof RegExp) assert.match(answered().message, message);
  else assert.equal(answered().message, message);
}

/** Calls a function of a user with JSON, and returns its answer. */
async function call(of, name, payload = {}) {
  return (await of.client.rpc(of.session, name, payload)).payload;
}

/** Returns the JSON of match data. */
function data(message) {
  return JSON.parse(new TextDecoder().decode(message.data));
}

test("a function of a script gets the user and the payload", async () => {
  const ann = await user(server);
  assert.deepEqual(await call(ann, "whoami", { a: 1 }), {
    payload: '{"a":1}', user_id: ann.id, username: ann.name, query: {}, mode: "rpc", colour: "red", is_socket: false,
  });
});

test("a function of a script is called without a session, by the HTTP key", async () => {
  const own = client(server);
  const { payload } = await own.rpcHttpKey(KEY, "whoami", { a: 1 });
  assert.deepEqual(payload, { payload: "", query: { payload: ['{"a":1}'] }, mode: "rpc", colour: "red", is_socket: false });
  await failed(own.rpcHttpKey("wrong", "whoami"), 401, 16, "HTTP key invalid");
  const response = await send(server, "POST", `/v2/rpc/whoami?unwrap&http_key=${KEY}`, { body: { b: [1] } });
  assert.equal(response.status, 200);
  assert.equal(answered().payload, '{"b":[1]}');
});

test("errors of scripts have their code and text, and others are internal", async () => {
  const ann = await user(server);
  await failed(ann.client.rpc(ann.session, "fail", { message: "too late", code: 9 }), 400, 9, "too late");
  await failed(ann.client.rpc(ann.session, "fail", { message: "who are you", code: 16 }), 401, 16, "who are you");
  const plain = await send(server, "POST", "/v2/rpc/fail?unwrap", { token: ann.session.token });
  assert.equal(plain.status, 500);
  assert.deepEqual([answered().code, answered().message], [13, "functions:19: plain error"]);
  await failed(ann.client.rpc(ann.session, "missing", {}), 404, 5, "RPC function not found");
});

test("hooks of a script change, refuse and disable calls", async () => {
  const own = client(server);
  const name = fresh("Loud").slice(0, 30);
  const session = await own.authenticateCustom(fresh("custom"), true, name);
  assert.equal(session.username, name.toLowerCase());
  await refused(own.deleteAccount(session), 7, `accounts stay, ${name.toLowerCase()}`);
  await refused(own.listFriends(session), 5, "Requested resource was not found.");
});

test("scripts make leaderboards and write records", async () => {
  const ann = await user(server);
  const written = await call(ann, "submit_score", { score: 40 });
  assert.equal(Number(written.score), 40);
  await call(ann, "submit_score", { score: 30 });
  const { owner_records } = await ann.client.listLeaderboardRecords(ann.session, "script_best", [ann.id]);
  assert.deepEqual([Number(owner_records[0].score), owner_records[0].metadata], [40, { weapon: "bow" }]);
  // Only the script writes it. The other one is open.
  await assert.rejects(ann.client.writeLeaderboardRecord(ann.session, "script_best", { score: "99" }));
  assert.equal(wire.status, 403);
  await ann.client.writeLeaderboardRecord(ann.session, "script_total", { score: "2" });
  const total = await ann.client.writeLeaderboardRecord(ann.session, "script_total", { score: "3" });
  assert.equal(Number(total.score), 5);
});

for (const [format, adapter] of FORMATS) {
  test(`${format}: a function is called over the socket, and its errors arrive`, async () => {
    const ann = await player(server, adapter);
    const answer = JSON.parse((await ann.socket.rpc("WHOAMI", "words")).payload);
    assert.deepEqual([answer.payload, answer.user_id, answer.is_socket], ["words", ann.id, true]);
    await rejected(ann.socket.rpc("fail", JSON.stringify({ message: "too late", code: 9 })), 7, "too late");
    await rejected(ann.socket.rpc("missing", ""), 6, "RPC function not found");
    leave(ann);
  });

  test(`${format}: notifications of a script arrive live, and are stored`, async () => {
    const ann = await player(server, adapter);
    await call(ann, "notify_me", { amount: 3, persistent: true });
    const live = await ann.notifications.next();
    assert.deepEqual([live.subject, live.code, live.content], ["Reward", 7, { amount: 3 }]);
    const stored = await ann.client.listNotifications(ann.session, 10);
    assert.deepEqual(stored.notifications.map(({ content }) => content), [{ amount: 3 }]);
    await call(ann, "notify_me", { amount: 4, persistent: false });
    assert.deepEqual((await ann.notifications.next()).content, { amount: 4 });
    assert.equal((await ann.client.listNotifications(ann.session, 10)).notifications.length, 1);
    leave(ann);
  });

  test(`${format}: a script adds sessions to a stream and sends data to it`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const label = fresh("stream");
    const seen = new Promise((resolve) => (bob.socket.onstreamdata = resolve));
    await ann.socket.rpc("stream_join", JSON.stringify({ label }));
    const joined = await bob.socket.rpc("stream_join", JSON.stringify({ label }));
    assert.deepEqual(JSON.parse(joined.payload), { count: 2 });
    await ann.socket.rpc("stream_say", JSON.stringify({ label, text: "hello" }));
    const { stream, data: sent } = await seen;
    assert.deepEqual([stream.mode, stream.label, JSON.parse(sent)], [123, label, { text: "hello" }]);
    leave(ann, bob);
  });

  test(`${format}: a hook changes messages of the socket`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const room = fresh("room");
    const channel = await ann.socket.joinChat(room, 1, false, false);
    await bob.socket.joinChat(room, 1, false, false);
    await ann.socket.writeChatMessage(channel.id, { text: "hello" });
    assert.deepEqual((await bob.channelMessages.next()).content, { text: "HELLO" });
    leave(ann, bob);
  });

  test(`${format}: a script creates a match that players list by its label and play`, async () => {
    const [ann, bob, eve] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const mode = fresh("mode").replaceAll("-", "");
    const { match_id: id } = await call(ann, "create_duel", { mode });
    const listed = await ann.client.listMatches(ann.session, 10, true, undefined, 0, 2, `+label.mode:${mode} +label.open:yes`);
    assert.deepEqual(listed.matches.map(({ match_id, authoritative }) => [match_id, authoritative]), [[id, true]]);
    assert.deepEqual((await call(ann, "list_duels", { query: `+label.mode:${mode}` })).ids, [id]);

    const joined = await ann.socket.joinMatch(id);
    assert.deepEqual([joined.match_id, joined.authoritative], [id, true]);
    await rejected(eve.socket.joinMatch(id, undefined, { password: "wrong" }), 5, "wrong password");
    const second = await bob.socket.joinMatch(id, undefined, { password: "right" });
    assert.deepEqual(users(second.presences).includes(ann.id), true);
    assert.deepEqual(data(await ann.matchData.next()), { started: true });
    await rejected(eve.socket.joinMatch(id), 5, "the duel is full");

    await bob.matchData.next();
    await ann.socket.sendMatchState(id, 5, "first");
    for (const { matchData } of [ann, bob]) {
      const message = await matchData.next();
      assert.deepEqual([Number(message.op_code), message.presence.user_id], [2, ann.id]);
      assert.deepEqual(data(message), { turn: 1, text: "first", by: ann.id });
    }
    assert.equal((await call(ann, "signal_duel", { match_id: id })).answer, "players 2, signal hello");
    const open = await ann.client.listMatches(ann.session, 10, true, undefined, 0, 2, `+label.mode:${mode} +label.open:yes`);
    assert.deepEqual(open.matches ?? [], [], "a full duel is not open");
    leave(ann, bob, eve);
  });

  test(`${format}: matched players get a match that the script creates`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const mode = fresh("mode").replaceAll("-", "");
    for (const { socket } of [ann, bob]) await socket.addMatchmaker(`+properties.mode:${mode}`, 2, 2, { mode });
    const [first, second] = [await ann.matches.next(), await bob.matches.next()];
    assert.equal(first.match_id, second.match_id);
    assert.ok(first.match_id.length > 0 && !first.token, JSON.stringify(first));
    await ann.socket.joinMatch(first.match_id);
    await bob.socket.joinMatch(first.match_id);
    assert.deepEqual(data(await ann.matchData.next()), { started: true });

    for (const { socket } of [ann, bob]) await socket.addMatchmaker("+properties.mode:relay", 2, 2, { mode: "relay" });
    const relayed = await ann.matches.next();
    assert.ok(relayed.token, "without a match of the script, the match is relayed");
    leave(ann, bob);
  });
}
