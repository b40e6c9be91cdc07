// Matches over the services socket, against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { cut, idsOf, useSockets, usersOf } from "../support/sockets.mjs";
import { until } from "../support/until.mjs";

const server = serve();
const { opened, wired } = useSockets(server);

test("members of a match send bytes to all, and to some", async () => {
  const [ann, bob, cat] = [await opened(), await opened(), await opened()];
  const match = await ann.socket.matches.create();
  const others = [await bob.socket.matches.join(match.id), await cat.socket.matches.join({ id: match.id })];
  await until("all are members", () => [match, ...others].every((each) => each.members.length === 3));
  assert.deepEqual(usersOf(match), idsOf(ann, bob, cat));
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
  match.send(1, bytes);
  match.send(2, "é", { to: match.members.filter(({ userId }) => userId === cat.userId) });
  await until("cat has both", () => cat.of("match_data").length === 2);
  const [first, second] = cat.of("match_data");
  assert.deepEqual([first.opCode, first.data, first.sender.userId], [1, bytes, ann.userId]);
  assert.equal(new TextDecoder().decode(second.data), "é");
  assert.deepEqual(bob.of("match_data").map(({ opCode }) => opCode), [1]);
  await others[0].leave();
  await until("bob has left", () => match.members.length === 2);
});

test("players who give the same name meet in one match, and the matchmaker gives a token", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const named = [await ann.socket.matches.create("plaza é"), await bob.socket.matches.create("plaza é")];
  assert.equal(named[0].id, named[1].id);
  await until("they meet", () => named[0].members.length === 2);
  const matched = Promise.all([ann, bob].map(({ socket }) => socket.next("matched")));
  for (const { socket } of [ann, bob]) await socket.matchmaker.add({ playersMin: 2, playersMax: 2, strings: { mode: "x" }, query: "+properties.mode:x" });
  const [one, other] = await matched;
  const joined = [await ann.socket.matches.join(one.match), await bob.socket.matches.join(other.match)];
  assert.equal(joined[0].id, joined[1].id);
  await until("they meet again", () => joined[0].members.length === 2);
});

test("a cut connection is restored with its match", async () => {
  const [ann, bob] = [await opened(), await wired()];
  const match = await ann.socket.matches.create();
  const joined = await bob.socket.matches.join(match.id, { metadata: { team: "red" } });
  await until("both are members", () => match.members.length === 2);
  const before = joined.self.sessionId;
  const { notRestored } = await cut(bob);
  assert.deepEqual([notRestored, joined.isJoined], [[], true]);
  assert.notEqual(joined.self.sessionId, before);
  await until("ann sees the new session alone", () => match.members.length === 2 && match.members.some(({ sessionId }) => sessionId === joined.self.sessionId));
  joined.send(5, "back");
  await until("data arrive", () => ann.of("match_data").some(({ opCode }) => opCode === 5));
});

test("a match that has ended is reported", async () => {
  const ann = await opened();
  const match = await ann.socket.matches.create();
  const back = ann.socket.next("connected");
  await server.kill();
  await server.start();
  const { notRestored } = await back;
  assert.deepEqual(notRestored.map(({ what, id, error }) => [what, id, error.code]), [["match", match.id, "match_not_found"]]);
  assert.deepEqual(ann.of("match_left").map((event) => [event.match, event.reason]), [[match, "not_restored"]]);
  await assert.rejects(ann.socket.matches.join("01a1e19e-2067-73d1-b847-44fa96b595fa."), { code: "match_not_found" });
});

test("a room of a game is joined as a match", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const room = await bob.client.join("arena", { core: "json" });
  try {
    const match = await ann.socket.matches.join(room.welcome.room, { metadata: { team: "red" } });
    assert.deepEqual([match.isAuthoritative, match.id], [true, room.welcome.room]);
    await match.leave();
    assert.deepEqual(ann.socket.matches.all, []);
  } finally {
    await room.leave();
  }
});
