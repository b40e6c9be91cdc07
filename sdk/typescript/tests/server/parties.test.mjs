// Parties and the matchmaker over the services socket, against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { cut, idsOf, useSockets, usersOf } from "../support/sockets.mjs";
import { until } from "../support/until.mjs";

const server = serve();
const { opened, wired } = useSockets(server);
const TICKET = { playersMin: 2, playersMax: 2 };

test("a party is created, listed, joined, led and left", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const party = await ann.socket.parties.create({ membersMax: 2, label: { game: "test é" } });
  const { parties } = await bob.client.parties.list({ isOpen: true });
  assert.deepEqual(parties.find(({ id }) => id === party.id), { id: party.id, isOpen: true, membersMax: 2, label: { game: "test é" } });
  const joined = await bob.socket.parties.join(party.id);
  await until("both are members", () => party.members.length === 2);
  assert.deepEqual([usersOf(joined), usersOf(party)], [idsOf(ann, bob), idsOf(ann, bob)]);
  assert.deepEqual([party.isLeader, joined.isLeader, joined.leader.userId, joined.label], [true, false, ann.userId, { game: "test é" }]);
  joined.send(7, Uint8Array.of(0, 200, 255));
  await until("data arrive", () => ann.of("party_data").length > 0);
  const { opCode, data, sender } = ann.of("party_data")[0];
  assert.deepEqual([opCode, data, sender.userId], [7, Uint8Array.of(0, 200, 255), bob.userId]);
  const cat = await opened();
  await assert.rejects(cat.socket.parties.join(party.id), /full/);
  await assert.rejects(joined.close(), /leader/);
  await party.promote(party.members.find(({ userId }) => userId === bob.userId));
  await until("bob leads", () => joined.isLeader && !party.isLeader);
  await joined.remove(joined.members.find(({ userId }) => userId === ann.userId));
  await until("ann is removed", () => ann.of("party_left").length > 0);
  assert.deepEqual([ann.of("party_left")[0].reason, usersOf(joined)], ["closed", idsOf(bob)]);
  await joined.leave();
  await assert.rejects(cat.socket.parties.join(party.id), /not found/i);
});

test("the leader of a closed party accepts and refuses", async () => {
  const [ann, bob, cat] = [await opened(), await opened(), await opened()];
  const party = await ann.socket.parties.create({ membersMax: 3, isOpen: false });
  const joining = bob.socket.parties.join(party.id);
  await until("bob asks", () => ann.of("party_join_requests").length > 0);
  const [request] = await party.joinRequests();
  assert.equal(request.userId, bob.userId);
  await party.accept(request);
  assert.deepEqual(usersOf(await joining), idsOf(ann, bob));
  await assert.rejects(cat.socket.parties.join(party.id, { timeoutMs: 500 }), { code: "timed_out" });
  await until("the request is taken back", async () => (await party.joinRequests()).length === 0);
});

test("a cut connection is restored with its party; the others see it leave and return", async () => {
  const [ann, bob] = [await opened(), await wired()];
  const party = await ann.socket.parties.create({ membersMax: 4 });
  const joined = await bob.socket.parties.join(party.id);
  await until("both are members", () => party.members.length === 2);
  const before = joined.self.sessionId;
  const { notRestored } = await cut(bob);
  assert.deepEqual(notRestored, []);
  await until("bob has another session", () => joined.self.sessionId !== before && party.members.some(({ sessionId }) => sessionId === joined.self.sessionId));
  await until("the old one is gone", () => party.members.length === 2);
  assert.deepEqual([bob.socket.parties.all, usersOf(joined)], [[joined], idsOf(ann, bob)]);
  joined.send(1, "back");
  await until("data arrive", () => ann.of("party_data").some(({ data }) => new TextDecoder().decode(data) === "back"));
});

test("a party that ended with its only member is reported, once", async () => {
  const ann = await wired();
  const party = await ann.socket.parties.create({ membersMax: 4 });
  await cut(ann);
  await until("the party is gone", () => ann.of("party_left").length > 0);
  assert.deepEqual(ann.of("party_left").map((event) => [event.party, event.reason]), [[party, "not_restored"]]);
  await cut(ann);
  assert.equal(ann.of("party_left").length, 1);
});

test("tickets match, are removed, and end with the connection", async () => {
  const [ann, bob] = [await wired(), await opened()];
  const removed = await ann.socket.matchmaker.add({ ...TICKET, strings: { mode: "none" }, query: "+properties.mode:never" });
  await ann.socket.matchmaker.remove(removed);
  await assert.rejects(ann.socket.matchmaker.add({ playersMin: 1, playersMax: 0 }), { code: "bad_input" });
  const lost = await ann.socket.matchmaker.add({ ...TICKET, query: "+properties.mode:never" });
  const reported = ann.socket.next("tickets_lost");
  await cut(ann);
  assert.deepEqual(await reported, { kind: "tickets_lost", tickets: [lost], reason: "disconnected" });
  const duel = { ...TICKET, strings: { mode: "duel" }, numbers: { skill: 7.5 }, query: "+properties.mode:duel" };
  const matched = Promise.all([ann.socket.next("matched"), bob.socket.next("matched")]);
  const tickets = [await ann.socket.matchmaker.add(duel), await bob.socket.matchmaker.add(duel)];
  const events = await matched;
  assert.deepEqual(events.map(({ ticket }) => ticket), tickets);
  assert.deepEqual(events[0].match, events[1].match);
  assert.deepEqual(events[0].users.map(({ presence }) => presence.userId).sort(), idsOf(ann, bob));
  assert.deepEqual([events[1].self.presence.userId, events[1].self.numbers], [bob.userId, { skill: 7.5 }]);
  assert.deepEqual(ann.socket.matchmaker.tickets, []);
});

test("a party that fills a match by itself matches, and a change of its members ends its ticket", async () => {
  const [ann, bob] = [await opened(), await opened()];
  const party = await ann.socket.parties.create({ membersMax: 3 });
  await bob.socket.parties.join(party.id);
  await until("both are members", () => party.members.length === 2);
  const ticket = await party.addTicket({ playersMin: 8, playersMax: 8 });
  await until("bob knows the ticket", () => bob.of("party_ticket").length > 0);
  const cat = await opened();
  await cat.socket.parties.join(party.id);
  await until("the ticket ended", () => ann.of("tickets_lost").length > 0 && bob.of("tickets_lost").length > 0);
  assert.deepEqual(bob.of("tickets_lost")[0], { kind: "tickets_lost", tickets: [ticket], reason: "party_changed" });
  const matched = Promise.all([ann, bob, cat].map(({ socket }) => socket.next("matched")));
  await party.addTicket({ playersMin: 3, playersMax: 3 });
  for (const { users: players } of await matched) {
    assert.deepEqual(players.map(({ presence }) => presence.userId).sort(), idsOf(ann, bob, cat));
    assert.ok(players.every(({ partyId }) => partyId === party.id));
  }
});
