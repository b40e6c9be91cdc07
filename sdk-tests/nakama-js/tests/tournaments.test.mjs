// Tournaments: listing, joining, writing, ranks, attempts, sizes, times.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, fresh, justNow, refused, send, serveFunctions, user } from "./server.mjs";

const server = serveFunctions("api.open_tournaments=open-cup");
const DAY = 86_400;
const seconds = () => Math.floor(Date.now() / 1000);

/** Creates a tournament; returns its id. */
async function create(terms = {}) {
  const id = fresh("cup");
  const { client, session } = await user(server);
  await client.rpc(session, "create_tournament", { id, duration: DAY, ...terms });
  return id;
}

/** Calls a function whose payload is the id of a tournament; returns the payload of its answer. */
async function call(session, name, id) {
  const response = await send(server, "POST", `/v2/rpc/${name}`, { token: session.token, body: JSON.stringify(id) });
  assert.equal(response.status, 200);
  return answered().payload;
}

test("a tournament is listed with every field in its format", async () => {
  const id = await create({ title: "Cup", description: "é", category: 77, max_size: 9, max_num_score: 3, join_required: true });
  const { client, session } = await user(server);
  const { tournaments } = await client.listTournaments(session, 77, 77, undefined, undefined, 100);
  const listed = tournaments.find((tournament) => tournament.id === id);
  assert.deepEqual(
    [listed.title, listed.description, listed.category, listed.max_size, listed.max_num_score, listed.can_enter, listed.duration],
    ["Cup", "é", 77, 9, 3, true, DAY],
  );
  const wire = answered().tournaments.find((tournament) => tournament.id === id);
  justNow(wire.create_time);
  justNow(wire.start_time);
  assert.equal(wire.end_time, undefined, "it has no end");
  assert.ok(Math.abs(wire.start_active - seconds()) < 60 && wire.end_active === wire.start_active + DAY);
  assert.deepEqual([wire.size, wire.next_reset, wire.prev_reset], [undefined, undefined, undefined], "zeros are left out");
  assert.deepEqual([wire.sort_order, wire.join_required, wire.authoritative, wire.metadata], [1, true, undefined, "{}"]);
});

test("lists are filtered by category and time, and have pages", async () => {
  const ids = [];
  for (let n = 0; n < 3; n += 1) ids.push(await create({ category: 101 }));
  const ending = await create({ category: 102, end_time: seconds() + DAY });
  const { client, session } = await user(server);
  const all = async (...query) => (await client.listTournaments(session, ...query)).tournaments.map(({ id }) => id);
  const first = await client.listTournaments(session, 101, 101, undefined, undefined, 2);
  assert.equal(first.tournaments.length, 2);
  const found = new Set(first.tournaments.map(({ id }) => id));
  for (let cursor = first.cursor; cursor; ) {
    const page = await client.listTournaments(session, 101, 101, undefined, undefined, 2, cursor);
    for (const { id } of page.tournaments) found.add(id);
    cursor = page.cursor;
  }
  assert.ok(ids.every((id) => found.has(id)));
  assert.ok((await all(101, 102)).includes(ending));
  assert.ok(!(await all(101, 102, undefined, 0)).includes(ending), "only those without an end");
  assert.ok((await all(101, 102, undefined, seconds() + 2 * DAY)).includes(ending));
  assert.ok(!(await all(101, 102, seconds() + DAY)).includes(ending), "it has started already");
  await refused(client.listTournaments(session, 9, 8), 3);
  await refused(client.listTournaments(session, 0, 128), 3);
  await refused(client.listTournaments(session, 0, 127, undefined, undefined, 101), 3);
});

test("a tournament is joined before the first score, up to its size", async () => {
  const id = await create({ join_required: true, max_size: 2 });
  const [ann, bob, eve] = [await user(server), await user(server), await user(server)];
  await refused(ann.client.writeTournamentRecord(ann.session, id, { score: "1" }), 9, /Join the tournament/);
  assert.equal(await ann.client.joinTournament(ann.session, id), true);
  assert.deepEqual(answered(), {});
  await ann.client.joinTournament(ann.session, id);
  await bob.client.joinTournament(bob.session, id);
  await refused(eve.client.joinTournament(eve.session, id), 3, /full/);
  const record = await ann.client.writeTournamentRecord(ann.session, id, { score: "1" });
  assert.equal(record.score, 1);
  await refused(ann.client.joinTournament(ann.session, "missing"), 5, "Tournament not found.");
});

test("each score is an attempt", async () => {
  const id = await create({ max_num_score: 2 });
  const { client, session, id: own, name } = await user(server);
  const record = await client.writeTournamentRecord(session, id, { score: "10", subscore: "3", metadata: { map: "é" } });
  assert.deepEqual(
    [record.leaderboard_id, record.owner_id, record.username, record.score, record.subscore, record.num_score, record.max_num_score],
    [id, own, name, 10, 3, 1, 2],
  );
  assert.deepEqual(record.metadata, { map: "é" });
  assert.match(answered().rank, /^\d+$/, "64-bit integers are strings");
  assert.equal((await client.writeTournamentRecord(session, id, { score: "5" })).score, 10);
  await refused(client.writeTournamentRecord(session, id, { score: "20" }), 9, /attempts are used up/);
  await client.deleteTournamentRecord(session, id);
  await refused(client.writeTournamentRecord(session, id, { score: "20" }), 9);
  assert.equal(await call(session, "add_attempt", id), "3");
  const response = await send(server, "POST", `/v2/tournament/${id}`, { token: session.token, body: { score: 20, operator: "SET" } });
  assert.deepEqual([response.status, answered().score, answered().num_score, answered().max_num_score], [200, "20", 3, 3]);
});

test("records are ranked, listed in pages, by owner and around an owner", async () => {
  const id = await create();
  const players = [];
  for (let n = 0; n < 12; n += 1) {
    const player = await user(server);
    players.push(player);
    await player.client.writeTournamentRecord(player.session, id, { score: `${100 - n}` });
  }
  const { client, session, id: own } = players[5];
  const first = await client.listTournamentRecords(session, id);
  assert.deepEqual(first.records.map(({ rank }) => rank), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "ten without a limit");
  assert.equal(answered().rank_count, "12");
  const second = await client.listTournamentRecords(session, id, [], 10, first.next_cursor);
  assert.deepEqual(second.records.map(({ owner_id }) => owner_id), players.slice(10).map((player) => player.id));
  const owned = await client.listTournamentRecords(session, id, [own], 1);
  assert.deepEqual([owned.owner_records[0].rank, owned.records.length], [6, 1]);
  const around = await client.listTournamentRecordsAroundOwner(session, id, own, 3);
  assert.deepEqual(around.records.map(({ rank }) => rank), [5, 6, 7]);
  const next = await client.listTournamentRecordsAroundOwner(session, id, own, 3, undefined, around.next_cursor);
  assert.deepEqual(next.records.map(({ rank }) => rank), [8, 9, 10]);
  await refused(client.listTournamentRecords(session, id, [], 101), 3);
  await refused(client.listTournamentRecordsAroundOwner(session, id, "nobody", 3), 3);
});

test("a tournament accepts scores in its active time only", async () => {
  const later = await create({ start_time: seconds() + DAY });
  const { client, session } = await user(server);
  await refused(client.joinTournament(session, later), 3, /not active/);
  await refused(client.writeTournamentRecord(session, later, { score: "1" }), 9, /not active/);
  const { tournaments } = await client.listTournaments(session, 0, 0, seconds() + 60);
  assert.equal(tournaments.find(({ id }) => id === later).can_enter, undefined, "false is left out");
});

test("a period is listed by its expiry", async () => {
  const id = await create({ reset_schedule: "0 0 * * *" });
  const { client, session } = await user(server);
  await client.writeTournamentRecord(session, id, { score: "7" });
  const expiry = Date.parse(answered().expiry_time) / 1000;
  const current = await client.listTournamentRecords(session, id, [], 10, undefined, `${expiry}`);
  assert.equal(current.records[0].score, 7);
  const earlier = await client.listTournamentRecords(session, id, [], 10, undefined, `${expiry - DAY}`);
  assert.deepEqual(earlier.records ?? [], []);
  const { tournaments } = await client.listTournaments(session, 0, 0);
  assert.equal(tournaments.find((tournament) => tournament.id === id).next_reset, expiry);
});

test("clients cannot write to an authoritative tournament, or use a tournament as a leaderboard", async () => {
  const id = await create({ authoritative: true });
  const { client, session } = await user(server);
  await refused(client.writeTournamentRecord(session, id, { score: "1" }), 7);
  await refused(client.writeLeaderboardRecord(session, id, { score: "1" }), 5);
  await refused(client.listLeaderboardRecords(session, id), 5);
  assert.equal(await call(session, "delete_tournament", id), "true");
  await refused(client.listTournamentRecords(session, id), 5);
});

test("the configuration opens tournaments to clients", async () => {
  const { client, session } = await user(server);
  const record = await client.writeTournamentRecord(session, "open-cup", { score: "3" });
  assert.equal(record.score, 3);
});
