// Leaderboards: writing, ranks, pages, around an owner, deleting.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, justNow, refused, send, serve, user } from "./server.mjs";

/** Leaderboard that the configuration opens to clients: best scores, highest first. */
const BOARD = "open";
const server = serve(`api.open_leaderboards=${BOARD}`);

test("a record has every field in its format", async () => {
  const { client: own, session, id, name } = await user(server);
  const record = await own.writeLeaderboardRecord(session, BOARD, { score: "1200", subscore: "7", metadata: { map: "é" } });
  assert.deepEqual(
    [record.leaderboard_id, record.owner_id, record.username, record.score, record.subscore, record.num_score],
    [BOARD, id, name, 1200, 7, 1],
  );
  assert.deepEqual(record.metadata, { map: "é" });
  assert.equal(record.max_num_score, 0);
  const { create_time, update_time, rank, ...rest } = answered();
  justNow(create_time);
  justNow(update_time);
  assert.match(rank, /^\d+$/, "64-bit integers are strings");
  assert.deepEqual(rest, {
    leaderboard_id: BOARD, owner_id: id, username: name, score: "1200", subscore: "7", num_score: 1,
    metadata: '{"map":"é"}',
  }, "what is zero is left out, and there is no expiry without resets");
});

test("the best score is stored, with its subscore", async () => {
  const { client: own, session } = await user(server);
  const write = (score, subscore) => own.writeLeaderboardRecord(session, BOARD, { score, subscore });
  await write("100", "5");
  let record = await write("90", "9");
  assert.deepEqual([record.score, record.subscore, record.num_score], [100, 5, 1]);
  record = await write("100", "6");
  assert.deepEqual([record.score, record.subscore, record.num_score], [100, 6, 2]);
  record = await write("110", "0");
  assert.deepEqual([record.score, record.subscore, record.num_score], [110, 0, 3]);
  assert.equal(answered().subscore, undefined);
});

test("a write may choose its operator", async () => {
  const { session } = await user(server);
  const write = async (record) => {
    await send(server, "POST", `/v2/leaderboard/${BOARD}`, { token: session.token, body: record });
    return answered().score;
  };
  assert.equal(await write({ score: 10, operator: "SET" }), "10");
  assert.equal(await write({ score: "5", operator: 3 }), "15", "INCREMENT");
  assert.equal(await write({ score: "20", operator: 4 }), "-5", "DECREMENT");
  assert.equal(await write({ score: "-7", operator: 1 }), "-5", "BEST");
  assert.equal(await write({ score: "-7", operator: 2 }), "-7", "SET");
});

test("records are ranked, and pages go both ways", async () => {
  const players = [];
  for (let n = 0; n < 12; n += 1) players.push(await user(server));
  // Far above the scores of other tests, so that these come first.
  for (const [n, { client, session }] of players.entries()) {
    await client.writeLeaderboardRecord(session, BOARD, { score: `${1_000_000_000 - n}` });
  }
  const { client: own, session } = players[5];
  const first = await own.listLeaderboardRecords(session, BOARD, [], 5);
  assert.deepEqual(first.records.map((record) => record.rank), [1, 2, 3, 4, 5]);
  assert.deepEqual(first.records.map((record) => record.owner_id), players.slice(0, 5).map((player) => player.id));
  assert.ok(first.rank_count >= 12);
  assert.equal(typeof answered().rank_count, "string");
  assert.equal(answered().prev_cursor, undefined);
  assert.equal(answered().owner_records, undefined);
  const second = await own.listLeaderboardRecords(session, BOARD, [], 5, first.next_cursor);
  assert.deepEqual(second.records.map((record) => record.rank), [6, 7, 8, 9, 10]);
  const back = await own.listLeaderboardRecords(session, BOARD, [], 5, second.prev_cursor);
  assert.deepEqual(back.records, first.records);

  const around = await own.listLeaderboardRecordsAroundOwner(session, BOARD, players[5].id, 5);
  assert.deepEqual(around.records.map((record) => record.rank), [4, 5, 6, 7, 8]);
  const next = await own.listLeaderboardRecordsAroundOwner(session, BOARD, players[5].id, 3, undefined, around.next_cursor);
  assert.deepEqual(next.records.map((record) => record.rank), [9, 10, 11]);
  const top = await own.listLeaderboardRecordsAroundOwner(session, BOARD, players[0].id, 3);
  assert.deepEqual(top.records.map((record) => record.rank), [1, 2, 3]);
});

test("owner records come in the order of the request", async () => {
  const [ann, bob, none] = [await user(server), await user(server), await user(server)];
  await ann.client.writeLeaderboardRecord(ann.session, BOARD, { score: "1" });
  await bob.client.writeLeaderboardRecord(bob.session, BOARD, { score: "2" });
  const list = await ann.client.listLeaderboardRecords(ann.session, BOARD, [ann.id, none.id, bob.id]);
  assert.deepEqual(list.owner_records.map((record) => record.owner_id), [ann.id, bob.id]);
  assert.ok(list.owner_records[0].rank > list.owner_records[1].rank);
  assert.deepEqual(list.records, [], "only those, unless more is requested");
  const alone = await ann.client.listLeaderboardRecords(ann.session, BOARD);
  assert.equal(alone.records.length, 1, "one by default");
});

test("a record is deleted, and those below move up", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  await ann.client.writeLeaderboardRecord(ann.session, BOARD, { score: "2000000000" });
  const before = await bob.client.writeLeaderboardRecord(bob.session, BOARD, { score: "1999999999" });
  // The SDK offers this call only on its lower layer.
  assert.deepEqual(await ann.client.apiClient.deleteLeaderboardRecord(ann.session.token, BOARD), {});
  const after = await bob.client.listLeaderboardRecords(bob.session, BOARD, [ann.id, bob.id]);
  assert.deepEqual(after.owner_records.map((record) => record.owner_id), [bob.id]);
  assert.equal(after.owner_records[0].rank, before.rank - 1);
  assert.deepEqual((await bob.client.listLeaderboardRecordsAroundOwner(bob.session, BOARD, ann.id, 10)).records, []);
});

test("invalid requests are rejected", async () => {
  const { client: own, session, id } = await user(server);
  await refused(own.writeLeaderboardRecord(session, "no such board", { score: "1" }), 5, /not found/);
  await refused(own.listLeaderboardRecords(session, "no such board"), 5, /not found/);
  await refused(own.listLeaderboardRecords(session, BOARD, [], 1001), 3, /limit/i);
  await refused(own.listLeaderboardRecords(session, BOARD, ["no id"]), 3);
  await refused(own.listLeaderboardRecords(session, BOARD, [], 10, "no cursor"), 3, /cursor/i);
  await refused(own.listLeaderboardRecordsAroundOwner(session, BOARD, id, 101), 3, /limit/i);
  await refused(own.listLeaderboardRecordsAroundOwner(session, BOARD, "no id", 10), 3);
  for (const score of ["NaN", "1.5", "9223372036854775808", "-9223372036854775809", ""]) {
    await refused(own.writeLeaderboardRecord(session, BOARD, { score }), 3);
  }
  await refused(own.writeLeaderboardRecord(session, BOARD, { score: "1", metadata: [1] }), 3);
});
