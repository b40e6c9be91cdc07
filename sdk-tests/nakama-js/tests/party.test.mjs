// Parties: every message of a party, in both formats.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, fresh, refused, send, serve } from "./server.mjs";
import { FORMATS, leave, player, rejected, settled, users } from "./sockets.mjs";

const server = serve();

/** Returns a presence as requests send it. */
function presence({ user_id, session_id, username }) {
  return { user_id, session_id, username };
}

/** Asserts the state of a party for one of its members. */
function assertState(format, state, { id, open, max, own, leader, members }) {
  assert.deepEqual([state.party_id, state.open ?? false], [id, open]);
  // The protobuf adapter has an older definition of this message, whose other fields have other numbers.
  if (format === "protobuf") return;
  assert.equal(state.max_size, max);
  assert.deepEqual([state.self.user_id, state.leader.user_id], [own, leader]);
  assert.deepEqual(users(state.presences), [...members].sort());
}

/** Waits for a join of a party, and returns the presence. */
async function joined({ partyPresences }, id) {
  const { joins, leaves } = await partyPresences.next();
  assert.deepEqual([users(joins), users(leaves)], [[id], []]);
  return presence(joins[0]);
}

/** Creates an open party with members, and reads the events of their joins. */
async function party(leader, ...members) {
  const created = await leader.socket.createParty(true, 8);
  await joined(leader, leader.id);
  const presences = [];
  for (const [index, member] of members.entries()) {
    await member.socket.joinParty(created.party_id);
    await member.parties.next();
    for (const other of [leader, ...members.slice(0, index + 1)]) presences[index] = await joined(other, member.id);
  }
  return { id: created.party_id, presences };
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: members of an open party see each other come, talk and go`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const created = await ann.socket.createParty(true, 3);
    assert.match(created.party_id, /^[0-9a-f-]{36}\.[0-9a-z-]+$/, "it ends with the node");
    const state = { id: created.party_id, open: true, max: 3, leader: ann.id };
    assertState(format, created, { ...state, own: ann.id, members: [ann.id] });
    await joined(ann, ann.id);

    await bob.socket.joinParty(created.party_id);
    assertState(format, await bob.parties.next(), { ...state, own: bob.id, members: [ann.id, bob.id] });
    for (const member of [ann, bob]) await joined(member, bob.id);
    await cid.socket.joinParty(created.party_id);
    for (const member of [ann, bob, cid]) await joined(member, cid.id);

    await bob.socket.sendPartyData(created.party_id, 7, JSON.stringify({ ready: true }));
    for (const member of [ann, cid]) {
      const data = await member.partyData.next();
      assert.deepEqual([data.party_id, Number(data.op_code), data.presence.user_id], [created.party_id, 7, bob.id]);
      assert.deepEqual(JSON.parse(new TextDecoder().decode(data.data)), { ready: true });
    }
    await cid.socket.sendPartyData(created.party_id, 1, new Uint8Array([0, 255, 7]));
    assert.deepEqual([...(await bob.partyData.next()).data], [0, 255, 7]);
    await settled(bob, cid);
    assert.equal(bob.partyData.length, 0, "the sender does not get its own data");

    await bob.socket.leaveParty(created.party_id);
    for (const member of [ann, cid]) {
      const { joins, leaves } = await member.partyPresences.next();
      assert.deepEqual([users(joins), users(leaves)], [[], [bob.id]]);
    }
    await settled(ann, bob, cid);
    assert.equal(bob.partyPresences.length, 0, "the one who left gets no event");
    assert.equal(ann.partyPresences.length, 0, "an event arrives once");
    leave(ann, bob, cid);
  });

  test(`${format}: a closed party has join requests that its leader accepts or removes`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { party_id } = await ann.socket.createParty(false, 4);
    await bob.socket.joinParty(party_id);
    const request = await ann.partyRequests.next();
    assert.deepEqual([request.party_id, users(request.presences)], [party_id, [bob.id]]);
    await cid.socket.joinParty(party_id);
    const [asked] = (await ann.partyRequests.next()).presences;
    assert.equal(asked.user_id, cid.id);
    const listed = await ann.socket.listPartyJoinRequests(party_id);
    assert.deepEqual([listed.party_id, users(listed.presences)], [party_id, [bob.id, cid.id].sort()]);
    assert.equal(bob.parties.length, 0, "a request is no member yet");

    await rejected(bob.socket.joinParty(party_id), 0, /^You have already asked to join/);
    await rejected(bob.socket.listPartyJoinRequests(party_id), 0, "Only the party leader may do this.");
    await rejected(bob.socket.acceptPartyMember(party_id, presence(asked)), 0, "Only the party leader may do this.");
    await ann.socket.acceptPartyMember(party_id, presence(request.presences[0]));
    const state = { id: party_id, open: false, max: 4, own: bob.id, leader: ann.id, members: [ann.id, bob.id] };
    assertState(format, await bob.parties.next(), state);
    await joined(ann, ann.id);
    await joined(ann, bob.id);
    await ann.socket.removePartyMember(party_id, presence(asked));
    assert.deepEqual(users((await ann.socket.listPartyJoinRequests(party_id)).presences), []);
    await rejected(ann.socket.acceptPartyMember(party_id, presence(asked)), 0, "Party join request not found.");
    await settled(cid);
    assert.equal(cid.parties.length, 0);
    leave(ann, bob, cid);
  });

  test(`${format}: the leader promotes, removes and closes`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { id, presences } = await party(ann, bob, cid);
    await rejected(bob.socket.removePartyMember(id, presences[1]), 0, "Only the party leader may do this.");
    await rejected(bob.socket.promotePartyMember(id, presences[0]), 0, "Only the party leader may do this.");
    await rejected(bob.socket.closeParty(id), 0, "Only the party leader may do this.");
    await ann.socket.promotePartyMember(id, presences[0]);
    for (const member of [ann, bob, cid]) {
      const leader = await member.partyLeaders.next();
      assert.deepEqual([leader.party_id, leader.presence.user_id], [id, bob.id]);
    }
    await bob.socket.removePartyMember(id, presences[1]);
    assert.equal((await cid.partyCloses.next()).party_id, id, "the removed member learns it");
    for (const member of [ann, bob]) assert.deepEqual(users((await member.partyPresences.next()).leaves), [cid.id]);
    await rejected(bob.socket.removePartyMember(id, presences[0]), 3, /cannot remove their own presence/);
    await rejected(bob.socket.promotePartyMember(id, presences[1]), 0, "Party member not found.");

    await bob.socket.closeParty(id);
    for (const member of [ann, bob]) assert.equal((await member.partyCloses.next()).party_id, id);
    await rejected(ann.socket.joinParty(id), 0, "Party not found. It may have closed.");
    await rejected(ann.socket.leaveParty(id), 0, "Party not found. It may have closed.");
    leave(ann, bob, cid);
  });

  test(`${format}: a session that ends leaves its party, and the oldest member leads`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { id } = await party(ann, bob, cid);
    ann.socket.disconnect(false);
    for (const member of [bob, cid]) {
      assert.deepEqual(users((await member.partyPresences.next()).leaves), [ann.id]);
      assert.equal((await member.partyLeaders.next()).presence.user_id, bob.id);
    }
    await settled(bob, cid);
    assert.equal(bob.partyPresences.length + cid.partyPresences.length, 0, "an event arrives once");
    await bob.socket.closeParty(id);
    leave(bob, cid);
  });

  test(`${format}: invalid requests are rejected and leave the socket open`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    await rejected(ann.socket.createParty(true, 0), 3, /^Invalid party max size/);
    await rejected(ann.socket.createParty(true, 257), 3, /^Invalid party max size/);
    await rejected(ann.socket.joinParty(fresh("party")), 0, "Party not found. It may have closed.");
    const full = await ann.socket.createParty(true, 1);
    await rejected(bob.socket.joinParty(full.party_id), 0, "The party is full.");
    await rejected(ann.socket.promotePartyMember(full.party_id, { user_id: "x", session_id: "y", username: "z" }), 3, /^Invalid presence/);
    await rejected(bob.socket.leaveParty(full.party_id), 0, "Party member not found.");
    await settled(ann, bob);
    leave(ann, bob);
  });
}

test("parties are listed by label, unless they are hidden", async () => {
  const ann = await player(server, FORMATS[0][1]);
  const mode = fresh("mode");
  const label = JSON.stringify({ mode });
  const { party } = await ann.socket.send({ party_create: { open: true, max_size: 4, label } });
  const hidden = await ann.socket.send({ party_create: { open: true, max_size: 4, label, hidden: true } });
  const list = async (query) => {
    await send(server, "GET", `/v2/party?limit=10&query=${encodeURIComponent(query)}`, { token: ann.session.token });
    return answered().parties ?? [];
  };
  assert.deepEqual(await list(`+label.mode:"${mode}"`), [{ party_id: party.party_id, open: true, max_size: 4, label }]);
  await ann.socket.send({ party_update: { party_id: hidden.party.party_id, label, open: false, hidden: false } });
  assert.deepEqual((await list(`+label.mode:"${mode}" +open:F`)).map(({ party_id }) => party_id), [hidden.party.party_id]);
  await ann.socket.send({ party_update: { party_id: party.party_id, label: "{}", open: true, hidden: true } });
  assert.equal((await list(`+label.mode:"${mode}"`)).length, 1);
  const failed = send(server, "GET", "/v2/party?limit=101", { token: ann.session.token });
  await refused(failed.then((response) => Promise.reject(response)), 3, /^Invalid limit/);
  leave(ann);
});

test("members with both formats are in one party", async () => {
  const [ann, bob] = [await player(server, FORMATS[0][1]), await player(server, FORMATS[1][1])];
  const { id } = await party(ann, bob);
  const bytes = new Uint8Array([0xe5, 0x90, 0x8d, 0, 255]);
  await ann.socket.sendPartyData(id, 2, bytes);
  assert.deepEqual([...(await bob.partyData.next()).data], [...bytes]);
  await bob.socket.sendPartyData(id, 3, bytes);
  assert.deepEqual([...(await ann.partyData.next()).data], [...bytes]);
  leave(ann, bob);
});
