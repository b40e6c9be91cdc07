// Matches over the socket: relayed ones, named ones, data, presences, refusals, the list.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fresh, refused, serve, user } from "./server.mjs";
import { FORMATS, leave, player, rejected, settled, users } from "./sockets.mjs";

const server = serve();

/** Returns the text of match data. */
function text(message) {
  return new TextDecoder().decode(message.data);
}

/** Returns who joined and who left. */
function changes(event) {
  return [users(event.joins), users(event.leaves)];
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: members of a relayed match see each other and exchange data`, async () => {
    const [ann, bob, eve] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const created = await ann.socket.createMatch();
    assert.match(created.match_id, /^[0-9a-f-]{36}\.$/, "a relayed match names no node");
    assert.equal(created.authoritative ?? false, false);
    assert.equal(created.self.user_id, ann.id);
    assert.deepEqual(users(created.presences), [], "the creator is new");
    assert.deepEqual(changes(await ann.matchPresences.next()), [[ann.id], []]);

    const joined = await bob.socket.joinMatch(created.match_id);
    assert.equal(joined.match_id, created.match_id);
    assert.equal(joined.size, 2);
    assert.deepEqual(users(joined.presences), [ann.id]);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[bob.id], []]);
    await eve.socket.joinMatch(created.match_id);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[eve.id], []]);

    await ann.socket.sendMatchState(created.match_id, 7, "hello");
    for (const { matchData } of [bob, eve]) {
      const message = await matchData.next();
      assert.deepEqual([message.match_id, Number(message.op_code), text(message)], [created.match_id, 7, "hello"]);
      assert.equal(message.presence.user_id, ann.id);
      assert.equal(message.presence.session_id, created.self.session_id);
    }
    // To some: eve gets nothing of it, and nobody gets its own data.
    await ann.socket.sendMatchState(created.match_id, 8, new Uint8Array([0, 1, 255]), [joined.self]);
    await ann.socket.sendMatchState(created.match_id, 9, "to all");
    const bytes = await bob.matchData.next();
    assert.deepEqual([Number(bytes.op_code), [...bytes.data]], [8, [0, 1, 255]]);
    assert.equal(Number((await bob.matchData.next()).op_code), 9);
    assert.equal(Number((await eve.matchData.next()).op_code), 9);
    await settled(ann, bob, eve);
    assert.equal(ann.matchData.length, 0);

    const again = await bob.socket.joinMatch(created.match_id);
    assert.deepEqual(users(again.presences), [ann.id, bob.id, eve.id].sort(), "a member sees itself too");
    await bob.socket.leaveMatch(created.match_id);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[], [bob.id]]);
    await rejected(bob.socket.leaveMatch(created.match_id), 0, /not in the match/);
    leave(eve);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[], [eve.id]], "a session leaves when it ends");
    leave(ann, bob);
  });

  test(`${format}: joins are refused with a code`, async () => {
    const ann = await player(server, adapter);
    const { socket } = ann;
    await rejected(socket.joinMatch("00000000-0000-4000-8000-000000000000."), 4, "Match not found.");
    await rejected(socket.joinMatch("no id"), 4, "Match not found.");
    await rejected(socket.joinMatch("x".repeat(1000)), 3, "Invalid match ID.");
    await rejected(socket.joinMatch(undefined, "no token"), 3, /token/);
    await rejected(socket.leaveMatch("00000000-0000-4000-8000-000000000000."), 4, /was not found/);
    await settled(ann);
    leave(ann);
  });
}

test("everyone who creates a match of a name is in the same one", async () => {
  // The protobuf package of the SDK has no names yet.
  const [, adapter] = FORMATS[0];
  const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
  const name = fresh("name");
  const [first, second] = [await ann.socket.createMatch(name), await bob.socket.createMatch(name)];
  assert.equal(first.match_id, second.match_id);
  assert.deepEqual(users(second.presences), [ann.id]);
  assert.notEqual((await ann.socket.createMatch(fresh("name"))).match_id, first.match_id);
  await rejected(ann.socket.createMatch("x".repeat(257)), 3, /256 bytes/);
  leave(ann, bob);
});

test("matches are listed by size, authority and label", async () => {
  const of = await user(server);
  const [, adapter] = FORMATS[0];
  const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
  const { match_id } = await ann.socket.createMatch();
  await bob.socket.joinMatch(match_id);
  const listed = async (...filter) => {
    const { matches } = await of.client.listMatches(of.session, ...filter);
    return (matches ?? []).filter((match) => match.match_id === match_id);
  };
  const [match] = await listed(100, false);
  assert.deepEqual([match.size, match.authoritative ?? false], [2, false]);
  assert.equal((await listed(100, false, undefined, 2, 2)).length, 1);
  assert.equal((await listed(100, false, undefined, 3)).length, 0);
  assert.equal((await listed(100, true)).length, 0);
  await refused(of.client.listMatches(of.session, -1), 3, /limit/);
  await refused(of.client.listMatches(of.session, 101), 3, /limit/);
  await refused(of.client.listMatches(of.session, 10, undefined, undefined, -1), 3, /size/);
  await refused(of.client.listMatches(of.session, 10, true, undefined, 0, 4, "x".repeat(2049)), 3, /query/);
  leave(ann, bob);
});

for (const [format, adapter] of FORMATS) {
  test(`${format}: matched players join a relayed match by token`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const mode = fresh("mode");
    for (const { socket } of [ann, bob]) await socket.addMatchmaker(`+properties.mode:${mode}`, 2, 2, { mode });
    const [first, second] = [await ann.matches.next(), await bob.matches.next()];
    assert.ok(first.token && second.token);
    const joined = await ann.socket.joinMatch(undefined, first.token);
    assert.equal(joined.match_id, (await bob.socket.joinMatch(undefined, second.token)).match_id);
    await ann.socket.sendMatchState(joined.match_id, 1, "found you");
    assert.equal(text(await bob.matchData.next()), "found you");
    leave(ann, bob);
  });

  test(`${format}: matched players join a room of a game`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const mode = fresh("mode");
    const properties = { mode, game: "arena" };
    for (const { socket } of [ann, bob]) await socket.addMatchmaker(`+properties.mode:${mode}`, 2, 2, properties);
    const [{ match_id }, other] = [await ann.matches.next(), await bob.matches.next()];
    assert.match(match_id, /^[0-9a-f-]{36}\..+$/, "it names its node");
    assert.equal(other.match_id, match_id);
    const eve = await player(server, adapter);
    const joined = await ann.socket.joinMatch(match_id, undefined, { team: "red" });
    assert.equal(joined.authoritative, true);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[ann.id], []]);
    assert.deepEqual(users((await bob.socket.joinMatch(match_id)).presences), [ann.id]);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[bob.id], []]);
    const { matches } = await eve.client.listMatches(eve.session, 100, true);
    assert.ok(!(matches ?? []).some((match) => match.match_id === match_id), "the room is private");
    await bob.socket.leaveMatch(match_id);
    assert.deepEqual(changes(await ann.matchPresences.next()), [[], [bob.id]]);
    leave(ann, bob, eve);
  });
}
