// The sandbox in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Wire } from "../../testing/wire.mjs";
import { Player, distance, meet } from "./support/player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";
import { OFFLINE, launch } from "./support/visitor.mjs";

const stage = setStage(Player);
const open = ({ path = "", ...options } = {}) => stage.open(`sandbox${path}${stage.server.developerFragment}`, options);

for (const transport of ["websocket", "webtransport"]) {
  test(`a ship is steered over ${transport}`, LIMIT, async () => {
    const player = await open({ path: `?transport=${transport}` });
    const before = await player.playing();
    assert.equal(before.transport, transport);
    const moved = await player.fly();
    assert.equal(moved.transport, transport, "it did not fall back");
    await player.hold("KeyA");
    await player.until("the ship turns", (state) => Math.abs(state.own.heading - moved.own.heading) > 0.3);
    await player.hold("Space");
    await player.until("a shot flies", (state) => state.shots > 0);
    await player.hold();
    await player.until("a round trip is measured", (state) => state.rttMs !== undefined);
    assertNoComplaints(player);
  });
}

test("a second browser sees the first one's ship move", LIMIT, async () => {
  const elsewhere = await launch();
  try {
    const first = await open();
    await first.playing();
    const second = await open({ in: elsewhere, path: `?room=${(await first.state()).room}` });
    await second.playing();
    assert.equal((await second.state()).room, (await first.state()).room);
    await meet(first, second);
    const { own } = await first.state();
    const seen = (await second.state()).others.find((ship) => ship.id === own.id);
    // A short push: even on a slow machine, the ship stays in view.
    await first.hold("KeyW");
    await first.until("the own ship moves", (state) => distance(state.own, own) > 15);
    await first.hold();
    const other = (state) => state.others.find((ship) => ship.id === own.id);
    await second.until("the other ship moves", (state) => distance(other(state), seen) > 10);
    assertNoComplaints(first, second);
    await second.close();
    await first.until("the ship that left is gone", (state) => state.others.length === 0);
  } finally {
    await elsewhere.close();
  }
});

test("the playground buttons spawn, stress and clear", LIMIT, async () => {
  const player = await open();
  await player.playing();
  const { page } = player;
  const { things } = await player.state();
  await page.click("#spawn-beacon");
  await page.mouse.click(420, 300);
  await player.notice("Placed a beacon.");
  const isNew = (thing) => thing.look === "beacon" && !things.some((known) => known.id === thing.id);
  const placed = await player.until("the beacon is in view", (state) => state.things.some(isNew));
  const away = distance(placed.things.find(isNew), placed.own);
  assert.ok(away > 1 && away < 150, `the beacon is at the pointer, ${away} units from the ship`);
  await player.until("the entities are counted", (state) => state.entitiesInRoom > 0);
  const before = (await player.state()).entitiesInRoom;
  await page.click("#stress-rotating");
  await player.notice("Spawned 100 rotating rocks.");
  await player.until("the rocks are there", (state) => state.entitiesInRoom >= before + 100);
  await page.click("#clear");
  await player.notice("World cleared.");
  await player.until("nothing is left", (state) => state.things.length === 0 && state.entitiesInRoom < 20);
  await player.fly();
  assertNoComplaints(player);
});

test("the developer secret gives the playground, and leaves the address bar", LIMIT, async () => {
  const player = await open();
  await player.playing();
  assert.equal(await player.page.isVisible("#playground"), true);
  assert.equal(await player.page.isVisible("#playground-hint"), false);
  assert.equal(new URL(player.page.url()).hash, "");
  // The browser keeps it.
  await player.page.reload();
  await player.playing();
  assert.equal(await player.page.isVisible("#playground"), true);
});

test("without the developer secret a page has no playground, and says how to get it", LIMIT, async () => {
  const player = await stage.open("sandbox");
  await player.playing();
  assert.equal(await player.page.isVisible("#playground"), false);
  assert.equal(await player.page.isVisible("#server"), false);
  assert.match(await player.page.textContent("#playground-hint"), /open the URL that the server printed/);
  assert.equal(await player.page.isVisible("#playground-hint"), true);
  await player.page.goto(`${stage.server.url}/${stage.server.developerFragment}`);
  await player.page.waitForFunction(() => location.hash === "");
  await player.page.goto(`${stage.server.url}/sandbox`);
  await player.playing();
  assert.equal(await player.page.isVisible("#playground"), true);
});

test("switching the transport keeps the ship", LIMIT, async () => {
  const player = await open();
  const before = await player.playing();
  for (const transport of ["webtransport", "websocket"]) {
    await player.page.click(`#transport-${transport}`);
    const now = await player.until(
      `the ship is connected over ${transport}`,
      (state) => state.phase === "playing" && state.own !== undefined && state.transport === transport,
    );
    assert.deepEqual([now.player, now.own.id, now.room], [before.player, before.own.id, before.room]);
    await player.fly();
  }
  assertNoComplaints(player);
});

test("a cut connection resumes with the same ship", LIMIT, async () => {
  const wire = await Wire.to(stage.server.address);
  try {
    const player = await open({ url: wire.url });
    const before = await player.playing();
    wire.cut();
    const now = await player.until(
      "the page has reconnected",
      (state) => state.phase === "playing" && state.own !== undefined && state.reconnects === 1,
    );
    assert.deepEqual([now.player, now.own.id], [before.player, before.own.id]);
    await player.notice("Reconnected, with the same ship.");
    await player.fly();
  } finally {
    wire.close();
  }
});

for (const transport of ["websocket", "webtransport"]) {
  test(`the page reconnects over ${transport} after a restart of the server`, LIMIT, async () => {
    const player = await open({ path: `?transport=${transport}` });
    await player.playing();
    await stage.server.stop();
    await player.until("the page notices", (state) => state.phase === "waiting" || state.phase === "connecting");
    assert.equal(await player.page.isVisible("#cover"), true, "the cover shows the state");
    await stage.server.start();
    await player.until("the page has reconnected", (state) => state.phase === "playing" && state.own !== undefined && state.reconnects > 0);
    const moved = await player.fly();
    assert.equal(moved.transport, transport);
    // Browsers log failed requests while the server is down; nothing else may be logged.
    assert.deepEqual(player.complaints.filter((complaint) => !OFFLINE.test(complaint)), []);
  });
}

test("a link to a room that has ended joins another one", LIMIT, async () => {
  const player = await open({ path: "?room=ZZZZZZ" });
  await player.playing();
  await player.fly();
});

test("the page fits a wide and a narrow screen, and touch steers", LIMIT, async () => {
  const wide = await open(WIDE);
  await wide.playing();
  await wide.page.click("#stress-rotating");
  await wide.notice("Spawned 100 rotating rocks.");
  const narrow = await open(NARROW);
  const { own } = await narrow.playing();
  const thrust = await narrow.page.locator('[data-control="thrust"]').boundingBox();
  await narrow.page.mouse.move(thrust.x + thrust.width / 2, thrust.y + thrust.height / 2);
  await narrow.page.mouse.down();
  await narrow.until("the ship moves", (state) => distance(state.own, own) > 15);
  await meetFor(wide, narrow);
  await wide.hold("KeyW", "Space");
  await wide.until("shots fly", (state) => state.shots > 1);
  await wide.page.screenshot({ path: `${SCREENSHOTS}sandbox-wide.png` });
  await narrow.page.screenshot({ path: `${SCREENSHOTS}sandbox-narrow.png` });
  await narrow.page.mouse.up();
  for (const player of [wide, narrow]) {
    assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
  }
  assertNoComplaints(wide, narrow);
});

/** Brings the ships together for the screenshot. */
async function meetFor(first, second) {
  await second.page.mouse.up();
  await meet(first, second);
  await second.page.locator('[data-control="thrust"]').hover();
  await second.page.mouse.down();
}
