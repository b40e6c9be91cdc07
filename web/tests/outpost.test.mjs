// Page of Outpost in headless Chromium against a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer } from "../../testing/server.mjs";
import { OutpostPlayer, cellAt, distance, structureAt } from "./support/outpost_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";
import { OFFLINE, launch } from "./support/visitor.mjs";

/** Walking speed in units per second. */
const SPEED_UNITS = 18;

/** X position at which the wall on the cell from 36 to 40 stops a player of radius 1.25. */
const WALL_STOP_X = 34.75;

/** A key takes effect in the next tick, and a tick lasts two frames. */
const FRAMES_MAX = 4;

const LAPS_MAX = 6;

const stage = setStage(OutpostPlayer);
let elsewhere;

before(async () => {
  elsewhere = await launch();
});

after(() => elsewhere?.close());

/** Opens a player on a new server, because structures survive a restart. */
async function first(options = {}) {
  await stage.server.remove();
  stage.server = await startServer();
  return enter(options);
}

/** Opens another player in a separate browser. */
function another(options = {}) {
  return enter({ in: elsewhere, ...options });
}

async function enter(options) {
  const player = await stage.open("outpost", options);
  await player.playing();
  return player;
}

/** Sets a slider of the network panel. */
async function set(player, id, value) {
  await player.page.locator(`#${id}`).evaluate((input, to) => {
    input.value = String(to);
    input.dispatchEvent(new Event("input"));
  }, value);
}

test("two browsers see each other walk, in one list of players", LIMIT, async () => {
  const ann = await first();
  const ben = await another();
  const { room, player } = await ann.state();
  assert.equal((await ben.state()).room, room);
  const seen = await ben.until("Ben sees Ann", ({ others }) => others.some((other) => other.player === player));
  const before = seen.others.find((other) => other.player === player);
  const { own } = await ann.walkTo({ x: 30, y: 0 });
  assert.ok(distance(own, before) > 5, "Ann has walked");
  await ben.until("Ben sees Ann where she is", ({ others }) => {
    const shown = others.find((other) => other.player === player);
    return shown !== undefined && distance(shown, own) < 0.1;
  });
  for (const someone of [ann, ben]) {
    await someone.until("both are in the list", ({ presence }) => presence.length === 2);
    assert.equal(await someone.page.locator("#people-list tr").count(), 2);
  }
  assertNoComplaints(ann, ben);
});

test("under 200 ms each way the own player moves at once, without corrections", LIMIT, async () => {
  const ann = await first();
  await ann.page.keyboard.press("KeyN");
  await set(ann, "latency", 200);
  await ann.until("the latency is in effect", ({ roundTripMs }) => roundTripMs > 300);
  await ann.walkTo({ x: 30, y: 0 });
  await ann.build("Wall", cellAt({ x: 38, y: 2 }));
  await ann.atRest();
  const moved = await ann.framesUntilMoved("KeyA");
  await ann.hold();
  assert.equal(moved.hasServerMoved, false, "the page did not wait for the server");
  assert.ok(moved.frames <= FRAMES_MAX, `the player moved ${moved.frames} frames after the key`);
  assert.ok(await hasLapWithoutCorrections(ann), "rules that differ from the server's would cause corrections on every lap");
  assertNoComplaints(ann);
});

/**
 * Walks around and against the wall, which the rules know as well as the server does. A machine that stalls for more
 * than half a second makes the server drop inputs, which rules cannot predict; so one of several laps must be clean.
 */
async function hasLapWithoutCorrections(player) {
  const isAtWall = ({ x }) => Math.abs(x - WALL_STOP_X) < 0.02;
  for (let lap = 0; lap < LAPS_MAX; lap += 1) {
    const before = await player.atRest();
    for (const position of [{ x: 22, y: 6 }, { x: 33, y: -4 }, { x: 30, y: 2 }]) await player.walkTo(position);
    await player.hold("KeyD");
    await player.until("the wall stops the player, here and on the server", ({ own, server }) => isAtWall(own) && isAtWall(server));
    await player.hold();
    const after = await player.atRest();
    if (after.corrections === before.corrections) return true;
  }
  return false;
}

test("without prediction the player moves after a round trip", LIMIT, async () => {
  const ann = await first();
  await ann.page.keyboard.press("KeyN");
  await ann.walkTo({ x: 30, y: 0 });
  await set(ann, "latency", 100);
  await ann.page.locator("#prediction").uncheck();
  await ann.until("the latency is in effect", ({ roundTripMs }) => roundTripMs > 150);
  await ann.atRest();
  const moved = await ann.framesUntilMoved("KeyA");
  await ann.hold();
  assert.equal(moved.hasServerMoved, true);
  await ann.page.locator("#prediction").check();
  await ann.atRest();
  assert.equal((await ann.framesUntilMoved("KeyD")).hasServerMoved, false, "prediction works again once it is on");
  assertNoComplaints(ann);
});

test("the preview matches the server's answer, and structures can be removed", LIMIT, async () => {
  const ann = await first();
  const ben = await another();
  await ann.walkTo({ x: 28, y: 0 });
  const far = await ann.aimTool("Wall", cellAt({ x: 54, y: 0 }));
  assert.equal(far.plan.obstacle, "that is too far away; move closer");
  const home = await ann.aimTool("Wall", cellAt({ x: 18, y: 0 }));
  assert.equal(home.plan.obstacle, "this is the spawn area; build farther out");
  await ann.page.mouse.down();
  await ann.until("a frame was drawn", ({ frames }) => frames > home.frames + 1);
  await ann.page.mouse.up();
  const cell = cellAt({ x: 38, y: 4 });
  const built = await ann.build("Wall", cell);
  assert.equal(built.structures.length, 1, "a plan with an obstacle is not sent");
  await ben.until("Ben sees the wall", (state) => structureAt(state, cell)?.kind === "Wall");
  await ben.until("the list counts it", ({ presence }) => presence.some(({ structures }) => structures === 1));
  const taken = await ben.aimTool("Remove", cell);
  assert.equal(taken.plan.obstacle, "another player built that");
  await ann.aimTool("Remove", cell);
  await ann.act();
  for (const someone of [ann, ben]) await someone.until("the wall is gone", (state) => structureAt(state, cell) === undefined);
  assertNoComplaints(ann, ben);
});

test("a shot hits the player it was aimed at", LIMIT, async () => {
  const ann = await first();
  const ben = await another();
  await ann.walkTo({ x: 30, y: 0 });
  await ben.walkTo({ x: 42, y: 0 });
  await ann.page.keyboard.press("Digit1");
  const { own } = await ben.atRest();
  await ann.point(own);
  await ann.page.mouse.down();
  await ann.until("the own shot flies", ({ shots }) => shots > 0);
  await ben.until("Ben is hurt", (state) => state.own.health < 100);
  await ann.page.mouse.up();
  const { player } = await ann.state();
  await ben.until("the hit is counted", ({ presence }) => presence.find((one) => one.player === player)?.hits > 0);
  assertNoComplaints(ann, ben);
});

/** Opens the dialog of the characters. */
async function openCharacters({ page }) {
  await page.click("#choose-character");
  await page.locator("#character-list li").first().waitFor();
}

/** Fills and submits the form of a character. */
async function saveCharacter({ page }, name, appearance) {
  await page.fill("#character-name", name);
  await page.locator("#appearances button", { hasText: appearance }).click();
  await page.click("#save-character");
  await page.locator("#character-list li", { hasText: name }).waitFor();
}

const ownPresence = ({ presence, player }) => presence.find((one) => one.player === player);

test("a character is created, seen by others, and stored with the account", LIMIT, async () => {
  const ann = await first();
  const ben = await another();
  const { own: start } = await ann.state();
  await ann.walkTo({ x: 30, y: 0 });
  await openCharacters(ann);
  await ann.page.click("#new-character");
  await saveCharacter(ann, "Iron Maid", "Robot");
  await ann.until("Ann is a robot", (state) => state.own?.appearance === 7 && ownPresence(state)?.name === "Iron Maid");
  const { player } = await ann.state();
  await ben.until("Ben sees the robot", ({ others, presence }) =>
    others.some(({ appearance }) => appearance === 7) && presence.some((one) => one.player === player && one.name === "Iron Maid"));
  await ann.page.keyboard.press("Escape");
  await ann.page.reload();
  await ann.until("Ann is a robot again", (state) => state.own?.appearance === 7 && ownPresence(state)?.name === "Iron Maid");
  // The first character is where it was left, with the name of the account.
  await openCharacters(ann);
  await ann.page.locator('[data-profile="default"] .play').click();
  await ann.until("Ann plays her first character", (state) => state.own?.appearance === start.appearance && ownPresence(state)?.name !== "Iron Maid");
  await ann.until("it is where it was left", ({ own }) => distance(own, { x: 30, y: 0 }) < 4);
  assertNoComplaints(ann, ben);
});

test("a character is renamed and deleted", LIMIT, async () => {
  const ann = await first();
  const { page } = ann;
  await openCharacters(ann);
  assert.equal(await page.locator('[data-profile="default"] [aria-label^="Delete"]').isDisabled(), true, "the last one stays");
  await page.locator('[data-profile="default"]').getByText("Edit").click();
  await saveCharacter(ann, "Ann of the Hills", "Diver");
  await ann.until("Ann is a diver", (state) => state.own?.appearance === 4 && ownPresence(state)?.name === "Ann of the Hills");
  await page.click("#new-character");
  await saveCharacter(ann, "x".repeat(64), "Smith");
  await ann.until("a long name is shortened", (state) => ownPresence(state)?.name === `${"x".repeat(21)}…`);
  const second = page.locator("#character-list li", { hasText: "xxx" });
  await second.getByText("Delete").click();
  assert.equal(await page.locator("#character-list li").count(), 2, "one click deletes nothing");
  await second.getByText("Sure?").click();
  await ann.until("Ann plays the other one", (state) => ownPresence(state)?.name === "Ann of the Hills");
  assert.equal(await page.locator("#character-list li").count(), 1);
  assertNoComplaints(ann);
  // The browser logs the refused request.
  await page.click("#new-character");
  await page.fill("#character-name", "a\u202eb");
  await page.click("#save-character");
  await page.locator("#characters-note", { hasText: "U+202E" }).waitFor();
  await page.click("#cancel-character");
});

test("the appearance that an earlier version of the page stored becomes that of the first character", LIMIT, async () => {
  const ann = await first();
  await ann.page.evaluate(() => localStorage.setItem("outpost.appearance", "6"));
  await ann.page.reload();
  await ann.until("Ann is a pilot", (state) => state.own?.appearance === 6);
  assert.equal(await ann.page.evaluate(() => localStorage.getItem("outpost.appearance")), null);
  await ann.page.reload();
  await ann.until("Ann is still a pilot", (state) => state.own?.appearance === 6);
});

test("Escape closes the character dialog and the network panel, and no key acts behind the dialog", LIMIT, async () => {
  const { page } = await first();
  const isOpen = () => page.evaluate(() => ({
    dialog: document.querySelector("#characters").open,
    panel: document.body.classList.contains("network-open"),
    tool: document.body.dataset.tool,
  }));
  await page.keyboard.press("Digit2");
  const { tool } = await isOpen();
  assert.notEqual(tool, "Blaster");
  await page.keyboard.press("KeyC");
  assert.deepEqual(await isOpen(), { dialog: true, panel: false, tool });
  await page.keyboard.press("KeyN");
  await page.keyboard.press("Digit1");
  assert.deepEqual(await isOpen(), { dialog: true, panel: false, tool });
  await page.keyboard.press("Escape");
  assert.deepEqual(await isOpen(), { dialog: false, panel: false, tool });
  await page.keyboard.press("KeyN");
  assert.equal((await isOpen()).panel, true);
  await page.keyboard.press("Escape");
  assert.deepEqual(await isOpen(), { dialog: false, panel: false, tool });
  await page.keyboard.press("Escape");
  assert.deepEqual(await isOpen(), { dialog: false, panel: false, tool: "Blaster" });
});

test("after kill -9 and a restart both players and the structures are restored", LIMIT, async () => {
  const ann = await first();
  const ben = await another();
  await ben.walkTo({ x: 30, y: 12 });
  await ann.walkTo({ x: 30, y: 0 });
  const cell = cellAt({ x: 38, y: 4 });
  await ann.build("Fence", cell);
  await ann.hold("KeyS");
  const walking = await ann.until("Ann is on her way", ({ own }) => own.y < -12);
  const resting = await ben.state();
  await stage.server.kill();
  await ann.hold();
  for (const someone of [ann, ben]) {
    await someone.until("the page notices", ({ phase }) => phase !== "playing");
    await someone.page.locator("#cover").waitFor({ state: "visible" });
  }
  await stage.server.start();
  for (const [someone, before] of [[ann, walking], [ben, resting]]) {
    const now = await someone.until("the page has reconnected", (state) => state.phase === "playing" && state.own !== undefined && state.losses > 0);
    assert.deepEqual([now.room, now.player], [before.room, before.player], "the same room and the same player");
    // One second of movement, plus half a second for the test itself.
    assert.ok(distance(now.own, before.own) < SPEED_UNITS * 1.5, `the player is ${distance(now.own, before.own)} units from before`);
    await someone.until("the fence stands", (state) => structureAt(state, cell)?.kind === "Fence");
  }
  await ann.walkTo({ x: 30, y: 0 });
  // Browsers log failed requests while the server is down; nothing else may be logged.
  for (const someone of [ann, ben]) assert.deepEqual(someone.complaints.filter((complaint) => !OFFLINE.test(complaint)), []);
});

test("the page fits a wide and a narrow screen, and touch works", LIMIT, async () => {
  const ann = await first(WIDE);
  const ben = await another(NARROW);
  await walkByTouch(ben);
  await buildOutpost(ann);
  await buildByTouch(ben);
  await ben.walkTo({ x: 30, y: 8 });
  await ann.aimTool("Wall", cellAt({ x: 26, y: -6 }));
  await ann.page.screenshot({ path: `${SCREENSHOTS}outpost-wide.png` });
  await ben.page.screenshot({ path: `${SCREENSHOTS}outpost-narrow.png` });
  await ann.page.keyboard.press("Digit1");
  await ann.page.keyboard.press("KeyN");
  await ann.page.click('[data-preset="poor"]');
  await ann.page.locator("#ghost").check();
  await ann.until("the latency is in effect", ({ roundTripMs }) => roundTripMs > 200);
  await ann.point({ x: 60, y: 10 });
  await ann.page.mouse.down();
  await ann.hold("KeyD", "KeyS");
  await ann.until("the server is behind", ({ own, server: known, shots }) => distance(own, known) > 2 && shots > 0);
  await ann.page.screenshot({ path: `${SCREENSHOTS}outpost-network.png` });
  await ann.page.mouse.up();
  await ann.hold();
  for (const player of [ann, ben]) assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
  assertNoComplaints(ann, ben);
});

/** Pushes the walk stick to the right until the player has moved. */
async function walkByTouch(player) {
  const { own } = await player.playing();
  const stick = await player.page.locator("#walk-stick").boundingBox();
  const [x, y] = [stick.x + stick.width / 2, stick.y + stick.height / 2];
  await player.page.mouse.move(x, y);
  await player.page.mouse.down();
  await player.page.mouse.move(x + stick.width / 3, y);
  await player.until("the player walks", (state) => state.own.x > own.x + 4);
  await player.page.mouse.up();
  await player.atRest();
}

/** Selects the fence, and taps the cell. */
async function buildByTouch(player) {
  await player.walkTo({ x: 30, y: 16 });
  await player.page.tap('[data-tool="Fence"]');
  const cell = cellAt({ x: 26, y: 22 });
  const at = await player.pixelOf(cell);
  await player.page.touchscreen.tap(at.x, at.y);
  await player.until("the fence stands", (state) => structureAt(state, cell)?.kind === "Fence");
  await player.page.tap('[data-tool="Blaster"]');
}

/** Builds a small outpost. */
async function buildOutpost(player) {
  await player.walkTo({ x: 34, y: 2 });
  const wanted = [["Wall", 42, 10], ["Wall", 42, 6], ["Door", 42, 2], ["Wall", 42, -2], ["Wall", 38, 10], ["Fence", 34, -6], ["Fence", 38, -6], ["Turret", 46, 6]];
  for (const [kind, x, y] of wanted) await player.build(kind, cellAt({ x, y }));
}
