// Friends, groups, notifications, tournaments, brackets, reports and remote values, against a real server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { AetherError, NOTIFICATION_CODES } from "../../dist/index.js";
import { useSockets } from "../support/sockets.mjs";
import { until } from "../support/until.mjs";

const ADMIN_KEY = "a long key of the operator of these tests";
const server = serve("api.open_tournaments=cup", `http.admin_key=${ADMIN_KEY}`);
const { opened } = useSockets(server);

/** Returns the states of other users by id. */
const statesOf = async ({ client }) => Object.fromEntries((await client.friends.list()).friends.map(({ user, state }) => [user.id, state]));
const notified = ({ of }, wanted) => until(`a notification ${wanted}`, () => of("notifications").flatMap(({ notifications }) => notifications).find(({ code }) => code === wanted));

/** Calls the admin API. */
async function operate(path, body = {}, root = "/api/brackets") {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const answer = await fetch(`http://${server.adminAddress}${root}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${answer.status} ${await answer.text()}`);
}

async function rejected(call) {
  const error = await call.then(
    () => assert.fail("it was not rejected"),
    (thrown) => thrown,
  );
  assert.ok(error instanceof AetherError, String(error));
  return error.code;
}

test("users become friends, and block each other", async () => {
  const [ann, bob, cat] = [await opened(), await opened(), await opened()];
  await ann.client.friends.add({ ids: [bob.userId] }, { metadata: { from: "arena" } });
  const request = await notified(bob, NOTIFICATION_CODES.friendRequest);
  assert.equal(request.senderId, ann.userId);
  assert.deepEqual([await statesOf(ann), await statesOf(bob)], [{ [bob.userId]: "invite_sent" }, { [ann.userId]: "invite_received" }]);
  await bob.client.friends.add({ usernames: [ann.client.session.identity.username] });
  await notified(ann, NOTIFICATION_CODES.friendAccepted);
  const { friends } = await ann.client.friends.list({ state: "friend" });
  assert.deepEqual(friends.map(({ user, metadata, state }) => [user.id, user.isOnline, metadata, state]), [[bob.userId, true, { from: "arena" }, "friend"]]);
  await bob.client.friends.add({ ids: [cat.userId] });
  await cat.client.friends.add({ ids: [bob.userId] });
  const { friendsOfFriends } = await ann.client.friends.friendsOfFriends();
  assert.deepEqual(friendsOfFriends.map(({ user, referrerId }) => [user.id, referrerId]), [[cat.userId, bob.userId]]);
  await ann.client.friends.block({ ids: [bob.userId] });
  assert.deepEqual(await statesOf(ann), { [bob.userId]: "blocked" });
  assert.equal((await statesOf(bob))[ann.userId], undefined);
  await assert.rejects(bob.socket.chat.joinDirect(ann.userId));
  await ann.client.friends.delete({ ids: [bob.userId] });
  assert.deepEqual(await statesOf(ann), {});
});

test("groups are found by name and tags; members have roles, and chat", async () => {
  const [ann, bob, cat] = [await opened(), await opened(), await opened()];
  const [name, tag] = [`Dragons ${randomUUID()}`, `t${randomUUID().slice(0, 8)}`];
  const group = await ann.client.groups.create({ name, description: "We fly.", isOpen: true, membersMax: 10, tags: [tag, "pvp"] });
  assert.deepEqual([group.name, group.members, group.membersMax, group.isOpen, group.tags], [name, 1, 10, true, ["pvp", tag].sort()]);
  await bob.client.groups.join(group.id);
  const found = await bob.client.groups.list({ tags: [tag] });
  assert.deepEqual(found.groups.map(({ id, members }) => [id, members]), [[group.id, 2]]);
  assert.deepEqual((await bob.client.groups.list({ name })).groups.map(({ id }) => id), [group.id]);
  await ann.client.groups.promote(group.id, [bob.userId]);
  const rolesOf = async () => Object.fromEntries((await ann.client.groups.members(group.id)).members.map(({ user, role }) => [user.id, role]));
  assert.deepEqual(await rolesOf(), { [ann.userId]: "superadmin", [bob.userId]: "admin" });
  assert.deepEqual((await bob.client.groups.ofUser()).memberships.map(({ group: { id }, role }) => [id, role]), [[group.id, "admin"]]);
  const channel = await bob.socket.chat.joinGroup(group.id);
  assert.ok(channel.messages.some(({ kind, senderId }) => kind === "group_joined" && senderId === bob.userId));
  await assert.rejects(cat.socket.chat.joinGroup(group.id));
  await ann.client.groups.update(group.id, { description: "We walk.", isOpen: false, tags: [] });
  await cat.client.groups.join(group.id);
  await notified(ann, NOTIFICATION_CODES.groupRequest);
  assert.equal((await rolesOf())[cat.userId], "join_request");
  await ann.client.groups.add(group.id, [cat.userId]);
  await ann.client.groups.demote(group.id, [bob.userId]);
  await ann.client.groups.kick(group.id, [bob.userId]);
  const left = await until("the chat is left", () => bob.of("chat_left")[0]);
  assert.equal(left.reason, "removed");
  await ann.client.groups.ban(group.id, [cat.userId]);
  assert.deepEqual(await rolesOf(), { [ann.userId]: "superadmin" });
  const [{ description, tags }] = (await ann.client.groups.list({ name })).groups;
  assert.deepEqual([description, tags], ["We walk.", []]);
  await ann.client.groups.delete(group.id);
  assert.deepEqual((await ann.client.groups.ofUser()).memberships, []);
});

test("stored notifications are listed from a cursor, and deleted", async () => {
  const [ann, bob, cat] = [await opened(), await opened(), await opened()];
  await bob.client.friends.add({ ids: [ann.userId] });
  await notified(ann, NOTIFICATION_CODES.friendRequest);
  const first = await ann.client.notifications.list();
  assert.deepEqual(first.notifications.map(({ code, senderId, isPersistent }) => [code, senderId, isPersistent]), [[NOTIFICATION_CODES.friendRequest, bob.userId, true]]);
  await cat.client.friends.add({ ids: [ann.userId] });
  const later = await until("another one", async () => {
    const page = await ann.client.notifications.list({ cursor: first.cursor });
    return page.notifications.length === 1 && page;
  });
  assert.equal(later.notifications[0].senderId, cat.userId);
  await ann.client.notifications.delete([...first.notifications, ...later.notifications].map(({ id }) => id));
  assert.deepEqual((await ann.client.notifications.list()).notifications, []);
});

test("a tournament is joined, and its records are ranked", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const { tournaments } = await ann.client.tournaments.list();
  const cup = tournaments.find(({ id }) => id === "cup");
  assert.deepEqual([cup.canEnter, cup.isAuthoritative, cup.durationSeconds, cup.sortOrder], [true, false, 86_400, "descending"]);
  assert.ok(cup.roundEndsAt > cup.roundStartsAt);
  await ann.client.tournaments.join("cup");
  const { score, rank } = await ann.client.tournaments.write("cup", { score: 10, metadata: { with: "luck" } });
  assert.deepEqual([score, rank], [10n, 1]);
  await bob.client.tournaments.write("cup", { score: 30n });
  const page = await ann.client.tournaments.records("cup", { ownerIds: [ann.userId] });
  assert.deepEqual(page.records.map(({ ownerId, rank: at }) => [ownerId, at]), [[bob.userId, 1], [ann.userId, 2]]);
  assert.deepEqual(page.ownerRecords[0].metadata, { with: "luck" });
  assert.equal((await bob.client.tournaments.around("cup")).records.length, 2);
  await bob.client.tournaments.delete("cup");
  assert.equal((await ann.client.tournaments.records("cup")).records.length, 1);
  assert.equal(await rejected(ann.client.tournaments.join("none")), "not_found");
});

test("a bracket is joined and played, and its entrants are told", async () => {
  const id = randomUUID();
  await operate("", { id, title: "Duel", format: "single_elimination", metadata: { prize: "hat" } });
  const [ann, bob] = [await opened(), await opened()];
  for (const { client } of [ann, bob]) await client.brackets.join(id);
  const { brackets } = await ann.client.brackets.list({ phase: "registration" });
  assert.deepEqual(brackets.filter((each) => each.id === id).map(({ entrants, metadata, format }) => [entrants, metadata, format]), [[2, { prize: "hat" }, "single_elimination"]]);
  await operate(`/${id}/start`);
  await notified(bob, NOTIFICATION_CODES.bracketMatchReady);
  const { matches: [duel], entrants } = await ann.client.brackets.read(id);
  assert.deepEqual([duel.state, duel.sides.map(({ userId }) => userId).sort(), entrants.length], ["ready", [ann.userId, bob.userId].sort(), 2]);
  const reported = await ann.client.brackets.report(id, duel.number, { winnerId: ann.userId, scores: duel.sides[0].userId === ann.userId ? [3, 1] : [1, 3] });
  assert.equal(reported.state, "ready");
  const decided = await bob.client.brackets.confirm(id, duel.number);
  assert.deepEqual([decided.state, decided.winnerId, decided.reason], ["decided", ann.userId, "agreed"]);
  await until("the end is told", () => ann.of("bracket").some(({ bracketId, phase }) => bracketId === id && phase === "finished"));
  await notified(ann, NOTIFICATION_CODES.bracketEnded);
  const { bracket } = await bob.client.brackets.read(id);
  assert.deepEqual([bracket.phase, bracket.winnerId], ["finished", ann.userId]);
});

test("players are reported, and remote values are read and watched", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const channel = await bob.socket.chat.joinRoom(randomUUID());
  const { messageId } = await channel.send({ text: "spam" });
  const filed = await ann.client.reports.file({ userId: bob.userId, category: "spam", text: "again", channelId: channel.id, messageIds: [messageId] });
  assert.equal(filed.isAdded, true);
  assert.equal(await rejected(ann.client.reports.file({ userId: ann.userId, category: "spam" })), "invalid_argument");
  assert.deepEqual(await ann.client.remoteValues.read(), {});
  await ann.socket.remoteValues.watch();
  await operate("/speed", { value: { max: 3 } }, "/api/values");
  await until("the change is told", () => ann.of("remote_value").some(({ key }) => key === "speed"));
  assert.deepEqual(await ann.client.remoteValues.value("speed", undefined), { max: 3 });
  assert.deepEqual(await ann.client.remoteValues.read(), { speed: { max: 3 } });
  assert.deepEqual(await ann.client.remoteValues.read(), { speed: { max: 3 } });
});
