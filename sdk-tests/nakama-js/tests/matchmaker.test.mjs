// Matchmaker: single players, parties, refusals and the end of tickets, in both formats.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, fresh, justNow, send, serve } from "./server.mjs";
import { FORMATS, leave, player, rejected, settled, users } from "./sockets.mjs";

const server = serve("matchmaker.interval_ms=100", "matchmaker.max_intervals=2");

/** Returns a query and properties that only the players of one test have. */
function own(mode = fresh("mode")) {
  return { query: `+properties.mode:"${mode}"`, properties: { mode } };
}

/** Returns the claims of a token. */
function claims(token) {
  return JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
}

/** Returns the number of tickets that wait. */
async function waiting({ session }) {
  await send(server, "GET", "/v2/matchmaker/stats", { token: session.token });
  return answered().ticket_count ?? 0;
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: players who suit each other meet in a relayed match`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const { query, properties } = own();
    const tickets = [
      await ann.socket.addMatchmaker(query, 2, 2, properties, { skill: 10.5 }),
      await bob.socket.addMatchmaker(query, 2, 2, properties, { skill: 12 }),
    ];
    const matched = [await ann.matches.next(), await bob.matches.next()];
    for (const [index, one] of [ann, bob].entries()) {
      const { ticket, match_id, token, users: all, self } = matched[index];
      assert.equal(ticket, tickets[index].ticket);
      assert.equal(match_id ?? "", "", "a relayed match is joined by token");
      assert.equal(token, matched[0].token, "everyone gets the same match");
      assert.equal(self.presence.user_id, one.id);
      assert.equal(self.presence.username, one.name);
      assert.deepEqual(all.map(({ presence }) => presence.user_id).sort(), [ann.id, bob.id].sort());
      const other = all.find(({ presence }) => presence.user_id === bob.id);
      assert.deepEqual([other.string_properties, other.numeric_properties, other.party_id ?? ""], [properties, { skill: 12 }, ""]);
    }
    const { mid, exp, iat } = claims(matched[0].token);
    assert.match(mid, /^[0-9a-f-]{36}\.$/);
    assert.equal(exp - iat, 30);
    await rejected(ann.socket.removeMatchmaker(tickets[0].ticket), 0, "Matchmaker ticket not found. It may have matched.");
    const answer = await send(server, "GET", "/v2/account", { token: matched[0].token });
    assert.equal(answer.status, 401, "a match token is no access token");
    leave(ann, bob);
  });

  test(`${format}: a party matches together with a single player`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { query, properties } = own();
    const { party_id } = await ann.socket.createParty(true, 2);
    await bob.socket.joinParty(party_id);
    await rejected(bob.socket.addMatchmakerParty(party_id, query, 3, 3, properties), 0, "Only the party leader may do this.");
    const { ticket } = await ann.socket.addMatchmakerParty(party_id, query, 3, 3, properties);
    const told = await bob.partyTickets.next();
    assert.deepEqual([told.party_id, told.ticket], [party_id, ticket], "all members get the ticket");
    await cid.socket.addMatchmaker(query, 3, 3, properties);
    const matched = await Promise.all([ann, bob, cid].map(({ matches }) => matches.next()));
    assert.deepEqual([matched[0].ticket, matched[1].ticket], [ticket, ticket]);
    assert.equal(new Set(matched.map(({ token }) => token)).size, 1);
    for (const { users: all } of matched) {
      const of = Object.fromEntries(all.map((user) => [user.presence.user_id, user.party_id ?? ""]));
      assert.deepEqual(of, { [ann.id]: party_id, [bob.id]: party_id, [cid.id]: "" });
    }
    leave(ann, bob, cid);
  });

  test(`${format}: a ticket ends on removal and with its session`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { query, properties } = own();
    const removed = await ann.socket.addMatchmaker(query, 2, 2, properties);
    await rejected(bob.socket.removeMatchmaker(removed.ticket), 0, /^Matchmaker ticket not found/);
    await ann.socket.removeMatchmaker(removed.ticket);
    await bob.socket.addMatchmaker(query, 2, 2, properties);
    bob.socket.disconnect(false);
    while ((await waiting(cid)) > 0) await new Promise((resolve) => setTimeout(resolve, 20).ref());
    await cid.socket.addMatchmaker(query, 2, 2, properties);
    await new Promise((resolve) => setTimeout(resolve, 300).ref());
    await settled(ann, cid);
    assert.equal(ann.matches.length + cid.matches.length, 0, "nobody is left to meet");
    await ann.socket.addMatchmaker(query, 2, 2, properties);
    assert.deepEqual((await cid.matches.next()).users.length, 2);
    leave(ann, cid);
  });

  test(`${format}: a change of a party ends its tickets`, async () => {
    const [ann, bob, cid] = [await player(server, adapter), await player(server, adapter), await player(server, adapter)];
    const { query, properties } = own();
    const { party_id } = await ann.socket.createParty(true, 4);
    const { ticket } = await ann.socket.addMatchmakerParty(party_id, query, 2, 2, properties);
    await bob.socket.joinParty(party_id);
    await rejected(ann.socket.removeMatchmakerParty(party_id, ticket), 0, /^Matchmaker ticket not found/);
    const again = await ann.socket.addMatchmakerParty(party_id, query, 3, 3, properties);
    await rejected(bob.socket.removeMatchmakerParty(party_id, again.ticket), 0, "Only the party leader may do this.");
    await ann.socket.removeMatchmakerParty(party_id, again.ticket);
    await cid.socket.addMatchmaker(query, 2, 2, properties);
    await new Promise((resolve) => setTimeout(resolve, 300).ref());
    await settled(ann, bob, cid);
    assert.equal(ann.matches.length + bob.matches.length + cid.matches.length, 0);
    leave(ann, bob, cid);
  });

  test(`${format}: after the intervals, the minimum count suffices`, async () => {
    const [ann, bob] = [await player(server, adapter), await player(server, adapter)];
    const { query, properties } = own();
    await ann.socket.addMatchmaker(query, 2, 8, properties);
    await bob.socket.addMatchmaker(query, 2, 8, properties);
    assert.equal((await ann.matches.next()).users.length, 2);
    assert.equal((await bob.matches.next()).users.length, 2);
    leave(ann, bob);
  });

  test(`${format}: invalid tickets are rejected with the reason`, async () => {
    const { socket, ...ann } = await player(server, adapter);
    await rejected(socket.addMatchmaker("*", 1, 2), 3, "Invalid minimum count: use 2 or more.");
    await rejected(socket.addMatchmaker("*", 3, 2), 3, /^Invalid maximum count/);
    await rejected(socket.addMatchmaker('+properties.mode:"duel', 2, 2), 3, /^Invalid matchmaker query: /);
    await rejected(socket.addMatchmaker("*", 2, 2, { text: "x".repeat(257) }), 3, /^Property `text` is too long/);
    leave({ socket, ...ann });
  });

  test(`${format}: a session has three tickets at most`, async () => {
    const ann = await player(server, adapter);
    const { query, properties } = own();
    for (let count = 0; count < 3; count += 1) await ann.socket.addMatchmaker(query, 2, 2, properties);
    await rejected(ann.socket.addMatchmaker(query, 2, 2, properties), 0, /^Too many matchmaker tickets/);
    leave(ann);
  });
}

test("players with both formats meet, and the stats show it", async () => {
  const [ann, bob] = [await player(server, FORMATS[0][1]), await player(server, FORMATS[1][1])];
  const { query, properties } = own();
  await ann.socket.addMatchmaker(query, 2, 2, properties);
  await bob.socket.addMatchmaker(query, 2, 2, properties);
  const all = (await ann.matches.next()).users.map(({ presence }) => presence);
  assert.deepEqual(users(all), users((await bob.matches.next()).users.map(({ presence }) => presence)));
  await send(server, "GET", "/v2/matchmaker/stats", { token: ann.session.token });
  const { completions } = answered();
  assert.ok(completions.length >= 2 && completions.length <= 10);
  justNow(completions.at(-1).complete_time);
  leave(ann, bob);
});
