// The services socket against a real server: status, functions, and reconnecting.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { serve } from "../../../../testing/server.mjs";
import { AetherError, Client } from "../../dist/index.js";
import { useSockets } from "../support/sockets.mjs";
import { until } from "../support/until.mjs";

const server = serve();
const { opened } = useSockets(server);

/** Statuses of a user, as another one knows them. */
const statusesOf = (viewer, { userId }) => viewer.socket.status.presences.filter((each) => each.userId === userId).map((each) => each.status);

test("followers see a status until its socket is closed", async () => {
  const [ann, bob] = [await opened(), await opened({ status: "here" })];
  const found = await ann.socket.status.follow([bob.userId]);
  assert.deepEqual(found.map(({ userId, status }) => [userId, status]), [[bob.userId, "here"]]);
  await bob.socket.status.set("é busy");
  await until("the status changes", () => statusesOf(ann, bob)[0] === "é busy");
  bob.socket.close();
  await until("bob is gone", () => statusesOf(ann, bob).length === 0);
  const leaves = ann.of("status").flatMap((event) => event.leaves.map(({ status }) => status));
  assert.deepEqual(leaves, ["here", "é busy"]);
});

test("an unknown function and a wrong request are rejected with a code", async () => {
  const { socket } = await opened();
  const error = await socket.rpc(`none-${randomUUID()}`).catch((thrown) => thrown);
  assert.ok(error instanceof AetherError);
  assert.equal(error.code, "runtime_function_not_found");
  const wrong = await socket.status.follow(["not an id"]).catch((thrown) => thrown);
  assert.equal(wrong.code, "bad_input");
  assert.equal(socket.phase, "connected");
});

test("a socket whose session ended elsewhere signs its visitor in again", async () => {
  const ann = await opened({ status: "s" });
  const other = new Client({ url: server.url });
  await other.session.signIn({ device: await ann.client.session.deviceId() });
  await other.session.logOut({ everywhere: true });
  const { isReconnect, notRestored } = await ann.socket.next("connected");
  assert.deepEqual([isReconnect, notRestored], [true, []]);
  assert.equal(ann.client.session.identity.userId, ann.userId);
});

test("a user who signed in by password is not signed in again, and the socket ends", async () => {
  const client = new Client({ url: server.url });
  const account = { email: `${randomUUID()}@example.com`, password: "correct horse" };
  await client.session.signIn(account);
  const socket = await client.openSocket();
  const ended = socket.next("ended");
  const other = new Client({ url: server.url });
  await other.session.signIn(account);
  await other.session.logOut({ everywhere: true });
  assert.equal((await ended).reason, "unauthenticated");
});

test("status and followed users are restored after a restart of the server", async () => {
  const [ann, bob] = [await opened({ status: "ann" }), await opened({ status: "bob" })];
  await ann.socket.status.follow([bob.userId]);
  const back = [ann.socket.next("connected"), bob.socket.next("connected")];
  await server.kill();
  await until("both notice", () => ann.socket.phase !== "connected" && bob.socket.phase !== "connected");
  const early = await ann.socket.rpc("f").catch((thrown) => thrown);
  assert.equal(early.code, "disconnected");
  await server.start();
  for (const { isReconnect, notRestored } of await Promise.all(back)) assert.deepEqual([isReconnect, notRestored], [true, []]);
  await until("ann sees bob again", () => statusesOf(ann, bob)[0] === "bob");
  await bob.socket.status.set("still here");
  await until("ann sees changes", () => statusesOf(ann, bob)[0] === "still here");
});
