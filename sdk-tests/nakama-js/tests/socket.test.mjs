// The realtime socket: both formats, functions, status, errors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fresh, serve, user } from "./server.mjs";
import { FORMATS, connect, rejected } from "./sockets.mjs";

const server = serve();

/** Returns the users and statuses of presences. */
function shown(presences) {
  return (presences ?? []).map(({ user_id, status }) => [user_id, status]);
}

for (const [format, adapter] of FORMATS) {
  test(`${format}: a socket connects, answers pings and disconnects`, async () => {
    const ann = await user(server);
    const { socket, ends } = await connect(ann, adapter);
    // The SDK sends the ping itself; its answer settles this promise.
    await socket.send({ ping: {} });
    socket.disconnect(true);
    assert.ok(await ends.next());
  });

  test(`${format}: followers see the status of another user until it disconnects`, async () => {
    const [ann, bob] = [await user(server), await user(server)];
    const watching = await connect(ann, adapter);
    const status = await watching.socket.followUsers([bob.id]);
    assert.deepEqual(shown(status.presences), [], "nobody is connected");

    const bobs = await connect(bob, adapter, true);
    const joined = await watching.statuses.next();
    assert.deepEqual(shown(joined.joins), [[bob.id, ""]]);
    assert.equal(joined.joins[0].username, bob.name);
    assert.match(joined.joins[0].session_id, /^[0-9a-f-]{36}$/);
    await bobs.socket.updateStatus("in a match");
    const changed = await watching.statuses.next();
    assert.deepEqual([shown(changed.joins), shown(changed.leaves)], [[[bob.id, "in a match"]], [[bob.id, ""]]]);

    const later = await connect(await user(server), adapter);
    assert.deepEqual(shown((await later.socket.followUsers([bob.id])).presences), [[bob.id, "in a match"]]);
    await later.socket.unfollowUsers([bob.id]);
    bobs.socket.disconnect(false);
    const left = await watching.statuses.next();
    assert.deepEqual([shown(left.joins), shown(left.leaves)], [[], [[bob.id, "in a match"]]]);
    watching.socket.disconnect(false);
    later.socket.disconnect(false);
  });

  test(`${format}: a status without a text hides the user`, async () => {
    const [ann, bob] = [await user(server), await user(server)];
    const [watching, bobs] = [await connect(ann, adapter), await connect(bob, adapter, true)];
    assert.deepEqual(shown((await watching.socket.followUsers([bob.id])).presences), [[bob.id, ""]]);
    await bobs.socket.updateStatus();
    assert.deepEqual(shown((await watching.statuses.next()).leaves), [[bob.id, ""]]);
    for (const { socket } of [watching, bobs]) socket.disconnect(false);
  });

  test(`${format}: errors have a code and leave the socket open`, async () => {
    const { socket } = await connect(await user(server), adapter);
    await rejected(socket.rpc("missing", "{}"), 6, "RPC function not found");
    await rejected(socket.rpc("", "{}"), 3, "RPC ID missing");
    await rejected(socket.followUsers(["no id"]), 3, /^Invalid user identifier/);
    await rejected(socket.updateStatus("x".repeat(2049)), 3, /2048 bytes/);
    await socket.send({ ping: {} });
    socket.disconnect(false);
  });
}

test("a bad token is rejected before the socket opens", async () => {
  // Without the SDK: its error handler closes the socket, for which the WebSocket of Node.js 20 calls the handler again.
  const socket = new WebSocket(`ws://${server.address}/ws?lang=en&status=false&token=${fresh("token")}`);
  const first = new Promise((resolve) => {
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("error");
  });
  assert.equal(await first, "error");
});

test("sockets of both formats see each other", async () => {
  const [ann, bob] = [await user(server), await user(server)];
  const [text, binary] = [await connect(ann, FORMATS[0][1], true), await connect(bob, FORMATS[1][1], true)];
  await text.socket.followUsers([bob.id]);
  await binary.socket.followUsers([ann.id]);
  await text.socket.updateStatus("déjà vu");
  await binary.socket.updateStatus("名前");
  const seen = async ({ statuses }, id) => {
    for (;;) {
      const own = shown((await statuses.next()).joins).find(([user_id, status]) => user_id === id && status !== "");
      if (own !== undefined) return own[1];
    }
  };
  assert.equal(await seen(binary, ann.id), "déjà vu");
  assert.equal(await seen(text, bob.id), "名前");
  for (const { socket } of [text, binary]) socket.disconnect(false);
});

test("a logged-out session loses its socket", async () => {
  const ann = await user(server);
  const { ends } = await connect(ann, FORMATS[0][1]);
  await ann.client.sessionLogout(ann.session, ann.session.token, ann.session.refresh_token);
  const end = await ends.next();
  assert.deepEqual([end.code, end.wasClean], [1000, true]);
});
