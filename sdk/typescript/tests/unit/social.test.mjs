// Requests and answers of friends, groups, notifications, tournaments and the history of chat.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, memoryStore } from "../../dist/index.js";
import { Answers, token } from "../support/answers.mjs";

const TIMES = { create_time: "2026-01-01T00:00:00Z", update_time: "2026-01-02T00:00:00Z" };
const USER = { id: "u2", username: "bob", display_name: "Bob", online: true, ...TIMES };

/** Creates a client that is signed in, and whose next calls get these answers. */
async function made(...answers) {
  const year = 365 * 86_400;
  const all = new Answers([200, { token: token({}, 100 * year), refresh_token: token({}, 100 * year) }], ...answers.map((answer) => [200, answer]));
  const client = new Client({ url: "http://server:7350", store: memoryStore(), fetch: all.fetch });
  await client.session.visit();
  all.asked.length = 0;
  return { client, all };
}

test("friends are added, removed, blocked and imported", async () => {
  const { client, all } = await made({});
  await client.friends.add({ ids: ["u2"], usernames: ["cat & dog"] }, { metadata: { from: "lobby" } });
  await client.friends.delete({ ids: ["u2", "u3"] });
  await client.friends.block({ usernames: ["bob"] });
  await client.friends.import({ platform: "steam", token: "t" }, { isReset: true });
  await client.friends.import({ platform: "facebook", token: "t" });
  assert.deepEqual(all.paths, [
    "POST /v2/friend?ids=u2&usernames=cat+%26+dog&metadata=%7B%22from%22%3A%22lobby%22%7D",
    "DELETE /v2/friend?ids=u2&ids=u3",
    "POST /v2/friend/block?usernames=bob",
    "POST /v2/friend/steam?reset=true",
    "POST /v2/friend/facebook",
  ]);
  assert.deepEqual(all.asked.slice(3).map(({ body }) => body), [{ token: "t" }, { token: "t" }]);
});

test("friends are listed by state, and their friends too", async () => {
  const list = { friends: [{ user: USER, state: 2, update_time: TIMES.update_time, metadata: '{"a":1}' }, { user: USER }], cursor: "next" };
  const { client, all } = await made(list, { friends_of_friends: [{ referrer: "u2", user: USER }], cursor: "" });
  const { friends, cursor } = await client.friends.list({ state: "invite_received", limit: 5, cursor: "c" });
  assert.deepEqual(friends.map(({ user, state, metadata }) => [user.displayName, user.isOnline, state, metadata]), [
    ["Bob", true, "invite_received", { a: 1 }],
    ["Bob", true, "friend", {}],
  ]);
  const page = await client.friends.friendsOfFriends();
  assert.deepEqual([cursor, page.cursor, page.friendsOfFriends[0].referrerId, page.friendsOfFriends[0].user.id], ["next", undefined, "u2", "u2"]);
  assert.deepEqual(all.paths, ["GET /v2/friend?limit=5&state=2&cursor=c", "GET /v2/friend/friends?limit=20"]);
});

test("groups are created, changed and managed", async () => {
  const group = { id: "g/1", creator_id: "u1", name: "Dragons", open: true, edge_count: 3, max_count: 50, tags: ["eu"], metadata: '{"level":2}', ...TIMES };
  const { client, all } = await made(group, {});
  const created = await client.groups.create({ name: "Dragons", isOpen: true, membersMax: 50, language: "en", tags: ["eu"] });
  assert.deepEqual([created.id, created.isOpen, created.members, created.membersMax, created.tags, created.metadata, created.description], ["g/1", true, 3, 50, ["eu"], { level: 2 }, ""]);
  await client.groups.update("g/1", { description: "d", isOpen: false });
  await client.groups.update("g/1", { tags: [] });
  for (const act of ["join", "leave", "delete"]) await client.groups[act]("g/1");
  for (const act of ["add", "kick", "ban", "promote", "demote"]) await client.groups[act]("g/1", ["u2", "u3"]);
  assert.deepEqual(all.asked.slice(0, 3).map(({ body }) => body), [
    { name: "Dragons", lang_tag: "en", open: true, tags: ["eu"], max_count: 50 },
    { description: "d", open: false },
    { tags: [], clear_tags: true },
  ]);
  const users = "user_ids=u2&user_ids=u3";
  assert.deepEqual(all.paths, [
    "POST /v2/group",
    "PUT /v2/group/g%2F1",
    "PUT /v2/group/g%2F1",
    "POST /v2/group/g%2F1/join",
    "POST /v2/group/g%2F1/leave",
    "DELETE /v2/group/g%2F1",
    ...["add", "kick", "ban", "promote", "demote"].map((act) => `POST /v2/group/g%2F1/${act}?${users}`),
  ]);
});

test("groups, their members, and the groups of a user are listed", async () => {
  const group = { id: "g1", name: "Dragons", ...TIMES };
  const { client, all } = await made(
    { groups: [group], cursor: "c" },
    { group_users: [{ user: USER, state: 1 }, { user: USER }] },
    { user_groups: [{ group, state: 3 }], cursor: "" },
    { user_groups: [] },
  );
  const { groups, cursor } = await client.groups.list({ language: "en", isOpen: true, membersMax: 10, tags: ["eu", "pvp"] });
  const { members } = await client.groups.members("g1", { role: "admin" });
  const { memberships } = await client.groups.ofUser();
  await client.groups.ofUser({ userId: "u2", role: "superadmin", limit: 1 });
  assert.deepEqual([groups[0].name, groups[0].tags, cursor], ["Dragons", [], "c"]);
  assert.deepEqual([members.map(({ role }) => role), memberships.map(({ role }) => role)], [["admin", "superadmin"], ["join_request"]]);
  assert.deepEqual(all.paths, [
    "GET /v2/group?lang_tag=en&members=10&open=true&tags=eu&tags=pvp&limit=20",
    "GET /v2/group/g1/user?limit=100&state=1",
    "GET /v2/user/u1/group?limit=100",
    "GET /v2/user/u2/group?limit=1&state=0",
  ]);
});

test("brackets are listed, joined and played", async () => {
  const wire = { id: "b1", title: "Cup", format: "single_elimination", seeding: "order", leaderboard_id: "", rounds: 0, match_seconds: 60, max_size: 8, size: 2, metadata: { prize: 1 }, phase: "running", version: 7, create_time: TIMES.create_time, start_time: TIMES.create_time, end_time: "", winner_id: "" };
  const side = (id, more = {}) => ({ user_id: id, username: id, seed: 1, bye: false, report: "", report_scores: [], ...more });
  const match = { number: 0, section: "winners", round: 1, state: "ready", sides: [side("u1", { report: "first", report_scores: [3, 1] }), side("u2")], outcome: "", reason: "", winner_id: "", scores: [], deadline: TIMES.update_time };
  const decided = { ...match, state: "decided", sides: [side("u1"), { ...side(""), seed: 0, bye: true }], outcome: "first", reason: "walkover", winner_id: "u1", scores: [0, 0], deadline: "" };
  const entrant = { user_id: "", username: "", seed: 2, rank: 1, points: 4, buchholz: 3, wins: 2, losses: 0, draws: 0, withdrawn: true };
  const { client, all } = await made({ brackets: [wire], cursor: "" }, { bracket: wire, entrants: [entrant], matches: [match, decided] }, wire, wire, match, match, decided);
  const { brackets: [cup], cursor } = await client.brackets.list({ phase: "running" });
  assert.deepEqual([cup.entrants, cup.entrantsMax, cup.matchSeconds, cup.version, cup.winnerId, cup.endedAt, cup.leaderboardId, cup.metadata, cursor], [2, 8, 60, 7, undefined, undefined, undefined, { prize: 1 }, undefined]);
  const { matches: [open, over], entrants } = await client.brackets.read("b1");
  assert.deepEqual([open.sides[0].report, open.sides[1].report, open.outcome, open.deadline.toISOString()], [{ outcome: "first", scores: [3, 1] }, undefined, undefined, "2026-01-02T00:00:00.000Z"]);
  assert.deepEqual([over.outcome, over.reason, over.winnerId, over.sides[1].isBye, over.sides[1].userId, over.deadline], ["first", "walkover", "u1", true, undefined, undefined]);
  assert.deepEqual([entrants[0].userId, entrants[0].hasWithdrawn, entrants[0].points], [undefined, true, 4]);
  await client.brackets.join("b1");
  await client.brackets.leave("b1");
  await client.brackets.report("b1", 0, { winnerId: "u1", scores: [3, 1] });
  await client.brackets.report("b1", 0, { isDraw: true });
  await client.brackets.confirm("b1", 0);
  assert.deepEqual(all.paths, [
    "GET /v2/bracket?phase=running",
    "GET /v2/bracket/b1",
    "POST /v2/bracket/b1/join",
    "POST /v2/bracket/b1/leave",
    "POST /v2/bracket/b1/match/0/report",
    "POST /v2/bracket/b1/match/0/report",
    "POST /v2/bracket/b1/match/0/confirm",
  ]);
  assert.deepEqual(all.asked.slice(4, 6).map(({ body }) => body), [{ winner_id: "u1", scores: [3, 1] }, { draw: true }]);
});

test("players are reported", async () => {
  const { client, all } = await made({ id: "r1", added: true }, { id: "r1" });
  const filed = await client.reports.file({ userId: "u2", category: "spam", text: "t", channelId: "2...a", messageIds: ["m1"], matchId: "m." });
  const full = await client.reports.file({ userId: "u2", category: "spam" });
  assert.deepEqual([filed, full], [{ id: "r1", isAdded: true }, { id: "r1", isAdded: false }]);
  assert.deepEqual(all.paths, ["POST /v2/report", "POST /v2/report"]);
  assert.deepEqual(all.asked.map(({ body }) => body), [
    { user_id: "u2", category: "spam", text: "t", channel_id: "2...a", message_ids: ["m1"], match_id: "m." },
    { user_id: "u2", category: "spam" },
  ]);
});

test("remote values that have not changed are not read again", async () => {
  const first = { values: { speed: 3, names: ["a"] }, hash: "h1", unchanged: false };
  const { client, all } = await made(first, { values: {}, hash: "h1", unchanged: true }, { values: { speed: 4 }, hash: "h2" }, { values: {}, hash: "h3" });
  assert.deepEqual(await client.remoteValues.read(), { speed: 3, names: ["a"] });
  assert.deepEqual(await client.remoteValues.read(), { speed: 3, names: ["a"] });
  assert.equal(await client.remoteValues.value("speed", 1), 4);
  assert.equal(await client.remoteValues.value("missing", "otherwise"), "otherwise");
  assert.deepEqual(all.paths, ["GET /v2/values", "GET /v2/values?hash=h1", "GET /v2/values?keys=speed", "GET /v2/values?keys=missing"]);
});

test("notifications are listed from a cursor and deleted", async () => {
  const notification = { id: "n1", subject: "Hi", content: "{}", code: -2, sender_id: "u2", create_time: TIMES.create_time, persistent: true };
  const { client, all } = await made({ notifications: [notification], cacheable_cursor: "later" }, {});
  const { notifications, cursor } = await client.notifications.list({ cursor: "c" });
  await client.notifications.delete(["n1", "n2"]);
  const [{ id, code, senderId, isPersistent }] = notifications;
  assert.deepEqual([id, code, senderId, isPersistent, cursor], ["n1", -2, "u2", true, "later"]);
  assert.deepEqual(all.paths, ["GET /v2/notification?limit=100&cacheable_cursor=c", "DELETE /v2/notification?ids=n1&ids=n2"]);
});

test("tournaments are listed and joined", async () => {
  const wire = { id: "t1", title: "Cup", category: 3, sort_order: 1, operator: 1, size: 2, max_size: 100, max_num_score: 3, can_enter: true, join_required: true, duration: 3600, start_active: 1_767_225_600, end_active: 1_767_229_200, start_time: TIMES.create_time, metadata: '{"prize":"hat"}' };
  const { client, all } = await made({ tournaments: [wire, { id: "t2" }], cursor: "c" }, {});
  const { tournaments: [cup, bare], cursor } = await client.tournaments.list({ categoryFirst: 0, categoryLast: 9, startsFrom: new Date(1_000), endsUntil: new Date(2_999) });
  await client.tournaments.join("t1");
  assert.deepEqual([cup.title, cup.sortOrder, cup.operator, cup.players, cup.playersMax, cup.writesMax], ["Cup", "descending", "best", 2, 100, 3]);
  assert.deepEqual([cup.canEnter, cup.isJoinRequired, cup.isAuthoritative, cup.durationSeconds, cup.metadata], [true, true, false, 3600, { prize: "hat" }]);
  assert.deepEqual([cup.roundStartsAt.toISOString(), cup.roundEndsAt.getTime() - cup.roundStartsAt.getTime(), cup.nextResetAt, cup.endsAt], ["2026-01-01T00:00:00.000Z", 3_600_000, undefined, undefined]);
  assert.deepEqual([bare.sortOrder, bare.canEnter, bare.metadata, cursor], ["ascending", false, {}, "c"]);
  assert.deepEqual(all.paths, ["GET /v2/tournament?category_start=0&category_end=9&start_time=1&end_time=2&limit=100", "POST /v2/tournament/t1/join"]);
});

test("records of a tournament are written, listed and deleted", async () => {
  const record = { leaderboard_id: "t1", owner_id: "u1", score: "9007199254740993", rank: "1", ...TIMES };
  const { client, all } = await made(record, { records: [record], rank_count: "7" }, { records: [record] }, {});
  const { score, rank } = await client.tournaments.write("t1", { score: 9007199254740993n, metadata: { a: 1 }, operator: "set" });
  assert.deepEqual([score, rank, all.asked[0].body], [9007199254740993n, 1, { score: "9007199254740993", subscore: "0", metadata: '{"a":1}', operator: 2 }]);
  const { records, rankCount } = await client.tournaments.records("t1", { ownerIds: ["u1"], limit: 5, expiresAt: new Date(5_000) });
  await client.tournaments.around("t1", { limit: 3 });
  await client.tournaments.delete("t1");
  assert.deepEqual([records.length, rankCount], [1, 7]);
  assert.deepEqual(all.paths, [
    "PUT /v2/tournament/t1",
    "GET /v2/tournament/t1?limit=5&owner_ids=u1&expiry=5",
    "GET /v2/tournament/t1/owner/u1?limit=3",
    "DELETE /v2/tournament/t1",
  ]);
});

test("the history of a channel is read in both directions", async () => {
  const { client, all } = await made({ messages: [{ message_id: "m1", channel_id: "2...a b", content: '{"text":"hi"}', sequence: "9", ...TIMES }], next_cursor: "n", prev_cursor: "p", cacheable_cursor: "c" }, {});
  const page = await client.chat.list("2...a b", { isForward: true, cursor: "x", limit: 10 });
  assert.deepEqual([page.nextCursor, page.previousCursor, page.cacheableCursor, page.messages[0].sequence, page.messages[0].content], ["n", "p", "c", 9, { text: "hi" }]);
  const empty = await client.chat.list("2...a b");
  assert.deepEqual([empty.messages, empty.nextCursor], [[], undefined]);
  assert.deepEqual(all.paths, ["GET /v2/channel/2...a%20b?limit=10&forward=true&cursor=x", "GET /v2/channel/2...a%20b?limit=50&forward=false"]);
});
