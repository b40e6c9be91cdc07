// Brackets: an extension of the protocol, with notifications and live updates over the sockets of the SDK.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fresh, send, serveFunctions, user } from "./server.mjs";
import { FORMATS, Received, connect } from "./sockets.mjs";

const server = serveFunctions();

async function call(player, method, path, body) {
  const response = await send(server, method, `/v2/bracket${path}`, { token: player.session.token, body });
  return { status: response.status, body: await response.json() };
}

/** Starts a bracket, by a function whose payload is its id. */
async function start(player, id) {
  const response = await send(server, "POST", "/v2/rpc/start_bracket", { token: player.session.token, body: JSON.stringify(id) });
  assert.equal(response.status, 200);
}

for (const [name, adapter] of FORMATS) {
  test(`entrants are notified and follow a bracket (${name})`, async () => {
    const [ann, bob] = [await user(server), await user(server)];
    const sockets = {};
    for (const player of [ann, bob]) {
      sockets[player.id] = await connect(player, adapter);
      sockets[player.id].updates = new Received();
      sockets[player.id].socket.onstreamdata = (data) => sockets[player.id].updates.push(data);
    }
    const id = fresh("cup");
    await ann.client.rpc(ann.session, "create_bracket", { id, format: "single_elimination", match_seconds: 600 });
    for (const player of [ann, bob]) {
      const joined = await call(player, "POST", `/${id}/join`);
      assert.deepEqual([joined.status, joined.body.phase], [200, "registration"]);
    }
    await start(ann, id);
    for (const [player, opponent] of [[ann, bob], [bob, ann]]) {
      const ready = await sockets[player.id].notifications.next();
      assert.deepEqual([ready.code, ready.persistent], [9001, true]);
      assert.deepEqual(
        [ready.content.bracket_id, ready.content.match, ready.content.opponent_id, ready.content.opponent],
        [id, 0, opponent.id, opponent.name],
      );
      assert.ok(Date.parse(ready.content.deadline) > Date.now());
    }
    assert.equal((await call(ann, "POST", `/${id}/match/0/report`, { winner_id: bob.id })).status, 200);
    const decided = await call(bob, "POST", `/${id}/match/0/confirm`);
    assert.deepEqual([decided.status, decided.body.winner_id, decided.body.reason], [200, bob.id, "agreed"]);
    for (const [player, rank] of [[bob, 1], [ann, 2]]) {
      const ended = await sockets[player.id].notifications.next();
      assert.deepEqual([ended.code, ended.content.rank, ended.content.winner_id], [9002, rank, bob.id]);
    }
    const phases = [];
    while (phases.at(-1) !== "finished") {
      const update = await sockets[ann.id].updates.next();
      assert.deepEqual([update.stream.mode, update.stream.label], [9, id]);
      phases.push(JSON.parse(update.data).phase);
    }
    assert.ok(phases.includes("registration") && phases.includes("running"), phases.join());
    const { body } = await call(ann, "GET", `/${id}`);
    assert.deepEqual(body.entrants.map((entrant) => entrant.user_id), [bob.id, ann.id]);
    const listed = await ann.client.listNotifications(ann.session, 10);
    assert.deepEqual(listed.notifications.map(({ code }) => code), [9001, 9002]);
    for (const player of [ann, bob]) sockets[player.id].socket.disconnect();
  });
}

test("different reports are a dispute, and brackets are listed", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const id = fresh("cup");
  await ann.client.rpc(ann.session, "create_bracket", { id, format: "swiss" });
  for (const player of [ann, bob]) await call(player, "POST", `/${id}/join`);
  await start(ann, id);
  await call(ann, "POST", `/${id}/match/0/report`, { winner_id: ann.id, scores: [2, 1] });
  const disputed = await call(bob, "POST", `/${id}/match/0/report`, { draw: true });
  assert.deepEqual([disputed.status, disputed.body.state], [200, "disputed"]);
  const { body } = await call(ann, "GET", "?phase=running&limit=100");
  assert.ok(body.brackets.some((bracket) => bracket.id === id));
  const left = await call(bob, "POST", `/${id}/leave`);
  assert.deepEqual([left.status, left.body.phase, left.body.winner_id], [200, "finished", ann.id]);
  assert.deepEqual((await call(bob, "POST", `/${id}/leave`)).body.code, 9);
});
