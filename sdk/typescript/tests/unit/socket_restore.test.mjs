// Status, parties, tickets and matches of the services socket, and their restoration after a lost connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocketNetwork, outcome, shown, wire } from "../support/socket_network.mjs";
import { settled } from "../support/time.mjs";

const text = (data) => new TextDecoder().decode(data);
const TICKET = { playersMin: 2, playersMax: 4 };

/** Party of the server, as it sends it to a member. */
const partyState = (self, others = [], more = {}) => ({ party_id: "p1", open: true, max_size: 4, self, leader: others[0] ?? self, presences: others, ...more });
const matchState = (self, others = [], more = {}) => ({ match_id: "m1.", self, presences: others, size: others.length, ...more });

/** Creates a connected socket whose player, ann, is in a party that bob leads. */
async function inParty(network = new SocketNetwork()) {
  network.answers.party_join = () => ({});
  const socket = await network.connected();
  const joining = outcome(socket.parties.join("p1"));
  network.peer.say({ party: partyState(wire("ann"), [wire("bob")]) });
  await settled();
  return { network, socket, party: joining.value };
}

async function inMatch(metadata) {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const joining = outcome(socket.matches.join("m1.", metadata === undefined ? {} : { metadata }));
  network.peer.answer("match_join", { match: matchState(wire("ann"), [wire("bob"), wire("cat")]) });
  await settled();
  return { network, socket, match: joining.value };
}

test("statuses of followed users are known and change", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected({ status: "" });
  const following = outcome(socket.status.follow(["bob", "cat"]));
  assert.deepEqual(network.peer.of("status_follow")[0].fields, { user_ids: ["bob", "cat"] });
  network.peer.answer("status_follow", { status: { presences: [{ ...wire("bob"), status: "" }] } });
  await settled();
  assert.deepEqual(following.value, [shown("bob", "bob-1", "")]);
  network.peer.say({ status_presence_event: { joins: [{ ...wire("bob"), status: "busy" }], leaves: [{ ...wire("bob"), status: "" }] } });
  network.peer.say({ status_presence_event: { joins: [{ ...wire("ann", "ann-2"), status: "phone" }] } });
  await settled();
  assert.deepEqual(socket.status.presences, [shown("bob", "bob-1", "busy")]);
  assert.deepEqual(network.of("status").map(({ joins, leaves }) => [joins.length, leaves.length]), [[1, 1], [1, 0]]);
  network.answers.status_unfollow = () => ({});
  await socket.status.unfollow(["bob"]);
  assert.deepEqual([socket.status.presences, socket.status.following], [[], ["cat"]]);
  await socket.status.set(undefined);
  assert.deepEqual(network.peer.sent.at(-1).fields, {});
  assert.equal(socket.status.own, undefined);
});

test("own status and followed users are restored, and changes are reported", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected({ status: "old" });
  await socket.status.set("new");
  const followed = ["bob", "cat", "dan", ...Array.from({ length: 297 }, (_, n) => `user-${n}`)];
  network.answers.status_follow = ({ user_ids }) => ({ status: { presences: user_ids.includes("bob") ? [wire("bob"), wire("cat"), wire("dan")].map((each) => ({ ...each, status: "1" })) : [] } });
  await socket.status.follow(followed);
  network.peer.cut();
  const after = [{ ...wire("bob"), status: "1" }, { ...wire("dan"), status: "2" }, { ...wire("user-0"), status: "" }];
  network.answers.status_follow = ({ user_ids }) => ({ status: { presences: user_ids.includes("bob") ? after : [] } });
  await network.time.pass(200);
  assert.deepEqual(network.peer.of("status_update")[0].fields, { status: "new" });
  assert.deepEqual(network.peer.of("status_follow").map(({ fields }) => fields.user_ids.length), [256, 44]);
  assert.deepEqual(network.kinds(), ["connected", "lost", "status", "connected"]);
  assert.deepEqual(network.of("status")[0], {
    kind: "status",
    joins: [shown("dan", "dan-1", "2"), shown("user-0", "user-0-1", "")],
    leaves: [shown("cat", "cat-1", "1"), shown("dan", "dan-1", "1")],
  });
  assert.equal(socket.status.presences.length, 3);
});

test("a status that the server rejects is reported and does not end the socket", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected({ status: "s" });
  network.answers.status_update = () => ({ error: { code: 3, message: "no" } });
  network.peer.cut();
  await network.time.pass(200);
  assert.equal(socket.phase, "connected");
  const { notRestored } = network.events.at(-1);
  assert.deepEqual(notRestored.map(({ what, id, error }) => [what, id, error.code]), [["status", "", "bad_input"]]);
});

test("a party is created, joined and led", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const creating = outcome(socket.parties.create({ membersMax: 4, label: { game: "arena" } }));
  assert.deepEqual(network.peer.of("party_create")[0].fields, { open: true, max_size: 4, hidden: false, label: '{"game":"arena"}' });
  network.peer.answer("party_create", { party: { ...partyState(wire("ann")), label: '{"game":"arena"}' } });
  await settled();
  const party = creating.value;
  assert.deepEqual([party.id, party.membersMax, party.isOpen, party.isLeader, party.label], ["p1", 4, true, true, { game: "arena" }]);
  assert.deepEqual(party.members, [shown("ann")]);
  network.peer.say({ party_presence_event: { party_id: "p1", joins: [wire("ann")] } });
  network.peer.say({ party_presence_event: { party_id: "p1", joins: [wire("bob")] } });
  network.peer.say({ party_data: { party_id: "p1", presence: wire("bob"), op_code: "7", data: btoa("hi") } });
  network.peer.say({ party_leader: { party_id: "p1", presence: wire("bob") } });
  network.peer.say({ party_update: { party_id: "p1", label: '{"game":"outpost"}' } });
  await settled();
  assert.deepEqual(network.kinds().slice(1), ["party_members", "party_data", "party_leader", "party_updated"]);
  assert.deepEqual([network.of("party_data")[0].opCode, text(network.of("party_data")[0].data)], [7, "hi"]);
  assert.deepEqual([party.isLeader, party.leader, party.isOpen, party.label], [false, shown("bob"), false, { game: "outpost" }]);
  for (const name of ["party_promote", "party_remove", "party_accept", "party_close", "party_update"]) network.answers[name] = () => ({});
  const bob = party.members[1];
  await Promise.all([party.promote(bob), party.remove(bob), party.accept(bob), party.update({ isOpen: true }), party.close()]);
  assert.deepEqual(network.peer.of("party_promote")[0].fields, { party_id: "p1", presence: wire("bob") });
  assert.deepEqual(network.peer.of("party_update")[0].fields, { party_id: "p1", open: true, hidden: false, label: '{"game":"outpost"}' });
  party.send(3, Uint8Array.of(0, 255));
  assert.deepEqual(network.peer.sent.at(-1), { cid: undefined, name: "party_data_send", fields: { party_id: "p1", op_code: "3", data: "AP8=" } });
  network.peer.say({ party_close: { party_id: "p1" } });
  await settled();
  assert.deepEqual([party.isJoined, network.events.at(-1).reason], [false, "closed"]);
});

test("a join resolves with the state of the party, before or after the answer", async () => {
  for (const isStateFirst of [true, false]) {
    const network = new SocketNetwork();
    const socket = await network.connected();
    const joining = outcome(socket.parties.join("p1"));
    const steps = [() => network.peer.say({ party: partyState(wire("ann"), [wire("bob")]) }), () => network.peer.answer("party_join")];
    for (const step of isStateFirst ? steps : steps.reverse()) step();
    await settled();
    assert.deepEqual(joining.value.members, [shown("bob"), shown("ann")]);
    assert.equal(await socket.parties.join("p1"), joining.value, "a member joins once");
    assert.deepEqual(network.kinds(), ["connected"]);
    assert.equal(network.time.waiting, 1);
  }
});

test("a join that is refused, given up, or lost rejects", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const refused = outcome(socket.parties.join("p1"));
  network.peer.answer("party_join", { error: { code: 3, message: "The party is full." } });
  await settled();
  assert.deepEqual([refused.error.code, refused.error.message], ["bad_input", "The party is full."]);
  assert.deepEqual(network.peer.of("party_leave"), []);

  network.answers.party_join = () => ({});
  const waiting = outcome(socket.parties.join("p1", { timeoutMs: 30_000 }));
  for (let seconds = 0; seconds < 30; seconds += 5) await network.time.pass(5_000);
  assert.equal(waiting.error.code, "timed_out");
  assert.deepEqual(network.peer.of("party_leave").length, 1, "the request is taken back");
  network.peer.say({ party: partyState(wire("ann"), [wire("bob")]) });
  await settled();
  assert.equal(network.events.at(-1).kind, "party", "the leader was faster");
  assert.equal(socket.parties.all.length, 1);

  const lost = outcome(socket.parties.join("p2"));
  network.peer.cut();
  await settled();
  assert.equal(lost.error.code, "disconnected");
});

test("a party is rejoined, and the app sees what changed", async () => {
  const { network, socket, party } = await inParty();
  network.peer.cut();
  await settled();
  assert.deepEqual([party.isJoined, party.members], [true, [shown("bob"), shown("ann")]], "the last known members");
  network.answers.party_join = (_, peer) => {
    queueMicrotask(() => peer.say({ party: partyState(wire("ann", "ann-2"), [wire("cat"), wire("dan")]) }));
    return {};
  };
  await network.time.pass(200);
  assert.deepEqual(network.kinds(), ["connected", "lost", "party_members", "party_leader", "connected"]);
  assert.deepEqual(network.of("party_members")[0], { kind: "party_members", party, joins: [shown("cat"), shown("dan")], leaves: [shown("bob")] });
  assert.deepEqual([party.leader, party.self], [shown("cat"), shown("ann", "ann-2")]);
  assert.deepEqual(network.events.at(-1).notRestored, []);
  assert.deepEqual(socket.parties.all, [party]);
});

test("a party that has ended is reported once and not joined again", async () => {
  const { network, socket, party } = await inParty();
  network.answers.party_join = () => ({ error: { code: 3, message: "Party not found." } });
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.kinds(), ["connected", "lost", "party_left", "connected"]);
  assert.deepEqual(network.of("party_left")[0], { kind: "party_left", party, reason: "not_restored", text: "Party not found." });
  assert.deepEqual(network.events.at(-1).notRestored.map(({ what, id, error }) => [what, id, error.code]), [["party", "p1", "bad_input"]]);
  assert.deepEqual([party.isJoined, socket.parties.all], [false, []]);
  network.peer.cut();
  await network.time.pass(1_000);
  assert.deepEqual(network.peer.of("party_join"), []);
});

test("a party that still has the lost session is joined again when the server has noticed the loss", async () => {
  const { network, socket, party } = await inParty();
  const held = { error: { code: 0, message: "You are already in the party, in another session." } };
  network.answers.party_join = () => held;
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.kinds(), ["connected", "lost", "connected"]);
  await network.time.pass(14_000);
  assert.ok(party.isJoined);
  network.answers.party_join = (_, peer) => {
    queueMicrotask(() => peer.say({ party: partyState(wire("ann", "ann-2"), [wire("bob"), wire("cat")]) }));
    return {};
  };
  await network.time.pass(8_000);
  assert.deepEqual(network.kinds().slice(3), ["party_members"]);
  assert.deepEqual([party.self, party.members.length], [shown("ann", "ann-2"), 3]);
  network.answers.party_join = () => held;
  network.peer.cut();
  await network.time.pass(60_000);
  assert.deepEqual([network.events.at(-1).kind, network.events.at(-1).reason, socket.parties.all], ["party_left", "not_restored", []]);
  assert.equal(network.peer.of("party_join").length, 10);
  assert.equal(network.time.waiting, 1);
});

test("a closed party needs its leader again", async () => {
  const { network, socket } = await inParty();
  network.peer.cut();
  await network.time.pass(2_200);
  assert.deepEqual(network.kinds(), ["connected", "lost", "party_left", "connected"]);
  assert.match(network.of("party_left")[0].text, /leader must accept/);
  network.peer.say({ party: partyState(wire("ann", "ann-2"), [wire("bob")]) });
  await settled();
  assert.deepEqual([network.events.at(-1).kind, socket.parties.all.length], ["party", 1]);
});

test("a connection that is lost while it restores starts over", async () => {
  const { network, socket } = await inParty();
  network.answers.party_join = undefined;
  network.peer.cut();
  await network.time.pass(200);
  assert.equal(socket.phase, "connecting", "the socket is connected when everything is restored");
  const early = outcome(socket.rpc("f"));
  await settled();
  assert.equal(early.error.code, "disconnected");
  network.peer.cut();
  network.answers.party_join = (_, peer) => {
    queueMicrotask(() => peer.say({ party: partyState(wire("ann", "ann-3"), [wire("bob")]) }));
    return {};
  };
  await network.time.pass(1_000);
  assert.deepEqual(network.kinds(), ["connected", "lost", "connected"]);
  assert.equal(socket.parties.all.length, 1);
});

test("a party is left, also without a connection, and a removed member is informed", async () => {
  const { network, socket, party } = await inParty();
  network.peer.cut();
  await party.leave();
  await network.time.pass(200);
  assert.deepEqual([network.peer.of("party_join"), socket.parties.all], [[], []]);
  const other = await inParty();
  other.network.peer.say({ party_presence_event: { party_id: "p1", leaves: [wire("ann")] } });
  await settled();
  assert.deepEqual([other.network.of("party_left")[0].reason, other.party.isJoined], ["removed", false]);
  const third = await inParty();
  third.network.answers.party_leave = () => ({});
  await third.party.leave();
  assert.deepEqual([third.party.isJoined, third.network.of("party_left")], [false, []]);
});

test("tickets end with a match, a lost connection, or a change of the party", async () => {
  const { network, socket, party } = await inParty();
  network.answers.matchmaker_add = () => ({ matchmaker_ticket: { ticket: "t1" } });
  network.answers.party_matchmaker_add = () => ({ party_matchmaker_ticket: { party_id: "p1", ticket: "t2" } });
  assert.equal(await socket.matchmaker.add({ ...TICKET, strings: { game: "arena" }, query: "+properties.game:arena" }), "t1");
  assert.deepEqual(network.peer.of("matchmaker_add")[0].fields, {
    min_count: 2,
    max_count: 4,
    query: "+properties.game:arena",
    string_properties: { game: "arena" },
    numeric_properties: {},
  });
  assert.equal(await party.addTicket({ ...TICKET, playersMultiple: 2 }), "t2");
  network.peer.say({ party_matchmaker_ticket: { party_id: "p1", ticket: "t3" } });
  assert.deepEqual(socket.matchmaker.tickets, ["t1", "t2", "t3"]);
  network.answers.party_matchmaker_remove = () => ({});
  await party.removeTicket("t3");
  network.peer.say({ party_presence_event: { party_id: "p1", joins: [wire("cat")] } });
  await settled();
  assert.deepEqual(network.events.at(-1), { kind: "tickets_lost", tickets: ["t2"], reason: "party_changed" });
  network.peer.say({
    matchmaker_matched: { ticket: "t1", match_id: "r1", users: [{ presence: wire("ann"), string_properties: { game: "arena" } }, { presence: wire("bob"), party_id: "p9" }], self: { presence: wire("ann") } },
  });
  await settled();
  const { kind, ticket, match, users, self } = network.events.at(-1);
  assert.deepEqual([kind, ticket, match, self.presence], ["matched", "t1", { id: "r1" }, shown("ann")]);
  assert.deepEqual(users.map(({ partyId, strings }) => [partyId, strings]), [[undefined, { game: "arena" }], ["p9", {}]]);
  assert.deepEqual(socket.matchmaker.tickets, []);

  await socket.matchmaker.add(TICKET);
  network.answers.party_join = () => ({ error: { code: 3, message: "Party not found." } });
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.kinds().slice(-4), ["lost", "party_left", "connected", "tickets_lost"]);
  assert.deepEqual(network.events.at(-1), { kind: "tickets_lost", tickets: ["t1"], reason: "disconnected" });
  network.answers.matchmaker_remove = () => ({});
  await socket.matchmaker.add(TICKET);
  await socket.matchmaker.remove("t1");
  assert.deepEqual(socket.matchmaker.tickets, []);
});

test("a match is joined by token, and its data are bytes", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  network.peer.say({ matchmaker_matched: { ticket: "t", token: "secret" } });
  const { match: choice } = await outcomeOf(network, "matched");
  const joining = outcome(socket.matches.join(choice, { metadata: { team: "red" } }));
  assert.deepEqual(network.peer.of("match_join")[0].fields, { token: "secret", metadata: { team: "red" } });
  network.peer.answer("match_join", { match: matchState(wire("ann"), [wire("bob")], { label: "l" }) });
  network.peer.say({ match_data: { match_id: "m1.", presence: wire("bob"), op_code: "2", data: "AAH/", reliable: true } });
  await settled();
  const match = joining.value;
  assert.deepEqual([match.id, match.isAuthoritative, match.label, match.members], ["m1.", false, "l", [shown("bob"), shown("ann")]]);
  const event = network.of("match_data")[0];
  assert.deepEqual([event.match, event.sender, event.opCode, event.data, event.isReliable], [match, shown("bob"), 2, Uint8Array.of(0, 1, 255), true]);
  match.send(9, "é", { to: [match.members[0]], isReliable: false });
  assert.deepEqual(network.peer.sent.at(-1).fields, { match_id: "m1.", op_code: "9", data: "w6k=", presences: [wire("bob")], reliable: false });
  assert.throws(() => match.send(0.5, ""), RangeError);
  network.peer.cut();
  assert.throws(() => match.send(1, ""), { code: "disconnected" });
});

async function outcomeOf(network, kind) {
  await settled();
  return network.of(kind).at(-1);
}

test("a match is rejoined by its id with the same metadata, and the app sees who came and left", async () => {
  const { network, socket, match } = await inMatch({ team: "red" });
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.peer.of("match_join")[0].fields, { match_id: "m1.", metadata: { team: "red" } });
  network.peer.answer("match_join", { match: matchState(wire("ann", "ann-2"), [wire("bob"), wire("dan")]) });
  await settled();
  assert.deepEqual(network.kinds(), ["connected", "lost", "match_members", "connected"]);
  assert.deepEqual(network.of("match_members")[0], { kind: "match_members", match, joins: [shown("dan")], leaves: [shown("cat")] });
  assert.deepEqual([match.self, socket.matches.all], [shown("ann", "ann-2"), [match]]);
  network.peer.say({ match_presence_event: { match_id: "m1.", joins: [wire("eve")], leaves: [wire("bob")] } });
  await settled();
  assert.deepEqual(match.members, [shown("dan"), shown("ann", "ann-2"), shown("eve")]);
});

test("a match that has ended is reported, and the others are still restored", async () => {
  const { network, socket, match } = await inMatch();
  const second = outcome(socket.matches.create("other"));
  network.peer.answer("match_create", { match: { ...matchState(wire("ann")), match_id: "m2." } });
  await settled();
  network.answers.match_join = ({ match_id }) => (match_id === "m1." ? { error: { code: 4, message: "Match not found." } } : { match: { ...matchState(wire("ann", "ann-2")), match_id } });
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.kinds(), ["connected", "lost", "match_left", "connected"]);
  assert.deepEqual(network.of("match_left")[0], { kind: "match_left", match, reason: "not_restored", text: "Match not found." });
  assert.deepEqual(network.events.at(-1).notRestored.map(({ what, id, error }) => [what, id, error.code]), [["match", "m1.", "match_not_found"]]);
  assert.deepEqual(socket.matches.all, [second.value]);
  network.peer.say({ match_presence_event: { match_id: "m2.", leaves: [wire("ann", "ann-2")] } });
  await settled();
  assert.deepEqual([network.events.at(-1).kind, network.events.at(-1).reason], ["match_left", "removed"]);
});

test("a join that was given up is undone when the server answers", async () => {
  const network = new SocketNetwork();
  const socket = await network.connected();
  const ending = new AbortController();
  const joining = outcome(socket.matches.join("m1.", { signal: ending.signal }));
  const adding = outcome(socket.matchmaker.add(TICKET, { signal: ending.signal }));
  ending.abort(new Error("enough"));
  network.peer.answer("match_join", { match: matchState(wire("ann")) });
  network.peer.answer("matchmaker_add", { matchmaker_ticket: { ticket: "t1" } });
  await settled();
  assert.deepEqual([joining.error.message, adding.error.message], ["enough", "enough"]);
  assert.deepEqual(network.peer.of("match_leave")[0].fields, { match_id: "m1." });
  assert.deepEqual(network.peer.of("matchmaker_remove")[0].fields, { ticket: "t1" });
  assert.deepEqual([socket.matches.all, socket.matchmaker.tickets], [[], []]);
});

test("a match is left, also without a connection", async () => {
  const { network, socket, match } = await inMatch();
  network.answers.match_leave = () => ({});
  await match.leave();
  assert.deepEqual([match.isJoined, socket.matches.all], [false, []]);
  const other = await inMatch();
  other.network.peer.cut();
  await other.match.leave();
  await other.network.time.pass(200);
  assert.deepEqual(other.network.peer.of("match_join"), []);
});

test("changes of remote values are told, also after a lost connection", async () => {
  const network = new SocketNetwork();
  network.answers.rpc = () => ({ rpc: { payload: "{}" } });
  const socket = await network.connected();
  await socket.remoteValues.watch();
  const change = (data) => network.peer.say({ stream_data: { stream: { mode: 10 }, data } });
  change('{"key":"speed","version":4}');
  change('{"key":"speed"}');
  change("not JSON");
  network.peer.say({ stream_data: { stream: { mode: 100 }, data: "other" } });
  await settled();
  assert.deepEqual(network.of("remote_value").map(({ key, version }) => [key, version]), [["speed", 4], ["speed", undefined]]);
  assert.deepEqual(network.of("stream_data").map(({ data }) => data), ["other"]);
  network.peer.cut();
  await network.time.pass(200);
  assert.deepEqual(network.peer.of("rpc").map(({ fields }) => fields), [{ id: "remote_values_watch" }]);
  await socket.remoteValues.unwatch();
  assert.equal(network.peer.sent.at(-1).fields.id, "remote_values_unwatch");
  network.peer.cut();
  await network.time.pass(400);
  assert.deepEqual([network.peer.of("rpc"), socket.remoteValues.isWatching], [[], false]);
});

test("changes of brackets are told", async () => {
  const network = new SocketNetwork();
  await network.connected();
  const data = JSON.stringify({ bracket_id: "b1", version: 3, phase: "running", size: 4, matches: [0, 2] });
  network.peer.say({ stream_data: { stream: { mode: 9, label: "b1" }, data } });
  network.peer.say({ stream_data: { stream: { mode: 9, label: "b1" }, data: "{}" } });
  await settled();
  assert.deepEqual(network.of("bracket"), [{ kind: "bracket", bracketId: "b1", version: 3, phase: "running", entrants: 4, matches: [0, 2] }]);
  assert.equal(network.of("stream_data").length, 0);
});
