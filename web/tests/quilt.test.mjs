// Quilt in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { QuiltPlayer } from "./support/quilt_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";

// A busy machine must not stop the script.
const stage = setStage(QuiltPlayer, { hasFreshRooms: true, settings: ["script.match_share_percent=100"] });

const seatOf = (state) => state.seats.find(({ seat }) => seat === state.seat);

test("a player sews cloth beside bots, and sees the score", LIMIT, async () => {
  const player = await stage.open("quilt", WIDE);
  const { seats, own } = await player.playing();
  assert.ok(seats.filter(({ is_bot }) => is_bot).length >= 7, "bots fill the room");
  assert.ok(own.x > 0 && own.x < 96 && own.y > 0 && own.y < 64);
  await player.until("the seat is known", (state) => seatOf(state)?.cells >= 25);
  const sewn = await player.sewUntil("more cloth", (state) => (seatOf(state)?.cells ?? 0) >= 55);
  const share = `${((seatOf(sewn).cells * 100) / (96 * 64)).toFixed(1).split(".")[0]}.`;
  await player.page.locator("#share", { hasText: share }).waitFor();
  await player.page.locator("#board .own").waitFor();
  assert.match(await player.page.textContent("#clock"), /^\d:\d\d$/);
  assert.equal(await player.page.isVisible("#edit"), false, "only developers edit the game");
  await player.page.screenshot({ path: `${SCREENSHOTS}quilt-wide-dark.png` });
  assertNoComplaints(player);
});

test("the needle is predicted: it turns before the server knows", LIMIT, async () => {
  const player = await stage.open("quilt");
  await player.playing();
  await player.hold("ArrowRight");
  const before = await player.until("it flies to the right", (state) => state.own !== undefined && Math.cos(state.own.heading) > 0.95);
  await player.until("it moves", (state) => state.own === undefined || state.own.x > before.own.x + 1 || state.own.x > 95);
  await player.hold("ArrowUp");
  await player.until("it flies up", (state) => state.own !== undefined && Math.sin(state.own.heading) < -0.95);
  // The first seconds, in which the page measures the clock of the server, do not count.
  const settled = await player.state();
  const later = await player.until("three more seconds", ({ tick }) => tick > settled.tick + 90);
  const [corrections, ticks] = [later.corrections - settled.corrections, later.tick - settled.tick];
  assert.ok(corrections < ticks / 10, `${corrections} corrections in ${ticks} ticks`);
  assertNoComplaints(player);
});

test("two browsers are in one room, and see each other", LIMIT, async () => {
  const first = await stage.open("quilt");
  const { room } = await first.playing();
  const second = await stage.open(`quilt?room=${room}`);
  await second.playing();
  for (const player of [first, second]) {
    await player.until("two players", (state) => state.seats.filter(({ is_bot }) => !is_bot).length === 2);
    const { seats } = await player.state();
    assert.equal(seats.length, 8, "a bot made room for each player");
  }
  assertNoComplaints(first, second);
});

test("a developer edits the source, and the running game changes with its players", LIMIT, async () => {
  const developer = await stage.open(`quilt${stage.server.developerFragment}`, WIDE);
  const { room } = await developer.playing();
  const other = await stage.open(`quilt?room=${room}`);
  await other.playing();
  await developer.openEditor();
  await developer.page.screenshot({ path: `${SCREENSHOTS}quilt-editor-wide-dark.png` });
  await developer.edit("local SPEED = 9 ", "local SPEED = 13 ");
  await developer.note("The running game has the new code");
  for (const player of [developer, other]) {
    const state = await player.until("the speed changes", ({ round }) => Math.abs(round.speed - 13) < 0.01);
    assert.deepEqual([state.room, state.reconnects, state.losses], [room, 0, 0], "nobody was disconnected");
    assert.ok(state.seats.some(({ cells }) => cells > 0), "the cloth is kept");
  }

  await developer.edit("local function match_loop(", "local function match_loop(((");
  await developer.note(/quilt:\d+:/);
  const failed = await developer.page.locator("#editor-lines .failed").textContent();
  const lines = (await developer.text.inputValue()).split("\n");
  assert.equal(lines.findIndex((line) => line.startsWith("local function match_loop(((")) + 1, Number(failed));
  const isShown = await developer.page.locator("#editor-lines .failed").evaluate((line) => {
    const [{ top, bottom }, code] = [line.getBoundingClientRect(), document.querySelector(".code").getBoundingClientRect()];
    return top >= code.top && bottom <= code.bottom;
  });
  assert.ok(isShown, "the line of the error is in view");
  await developer.page.screenshot({ path: `${SCREENSHOTS}quilt-error-wide-dark.png` });
  const { tick } = await other.state();
  await other.until("the game goes on", (state) => state.tick > tick + 20 && state.round.speed > 12.9);

  await developer.page.click("#editor-reset");
  await other.until("the original speed", ({ round }) => Math.abs(round.speed - 9) < 0.01);
  assert.equal((await other.state()).losses, 0);
  assertNoComplaints(other);
  // The answer to the broken module is an error, which the browser logs.
  assert.deepEqual(developer.complaints.filter((complaint) => !complaint.includes("422")), []);
});

test("a page without the secret of the server cannot edit", LIMIT, async () => {
  const visitor = await stage.open("quilt#developer=wrong");
  await visitor.playing();
  assert.equal(await visitor.page.isVisible("#edit"), false);
  const answer = await visitor.page.evaluate(async () => {
    const headers = { authorization: "Bearer wrong" };
    const response = await fetch("/api/development/modules/quilt", { method: "PUT", headers, body: "return 1" });
    return { status: response.status, ...(await response.json()) };
  });
  assert.deepEqual([answer.status, answer.code], [403, "not_development"]);
  assert.match(answer.error, /developer only/);
});

test("the page fits wide and narrow screens, in dark and light, and touch steers", LIMIT, async () => {
  for (const [name, options] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const colorScheme of ["dark", "light"]) {
      const player = await stage.open(`quilt${stage.server.developerFragment}`, { ...options, colorScheme });
      await player.playing();
      if (name === "narrow") {
        const touch = await player.page.context().newCDPSession(player.page);
        const finger = (x, y) => ({ x, y, id: 1 });
        await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger(200, 560)] });
        await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [finger(240, 600)] });
        await player.until("it flies down and to the right", ({ own }) => own !== undefined && Math.abs(own.heading - Math.PI / 4) < 0.3);
        await player.until("some cloth", (state) => state.sewn > 300);
        await player.page.screenshot({ path: `${SCREENSHOTS}quilt-${name}-${colorScheme}.png` });
        await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
        await player.openEditor();
        await player.page.screenshot({ path: `${SCREENSHOTS}quilt-editor-${name}-${colorScheme}.png` });
      } else {
        await player.sewUntil("some cloth", (state) => state.sewn > 500);
        await player.page.screenshot({ path: `${SCREENSHOTS}quilt-${name}-${colorScheme}.png` });
      }
      assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
      assertNoComplaints(player);
      await player.close();
    }
  }
});
