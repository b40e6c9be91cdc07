// Arena in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArenaPlayer, grazing } from "./support/arena_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";
import { OFFLINE, launch, pause } from "./support/visitor.mjs";

// Bots that have eaten for a long time would leave little to a new player.
const stage = setStage(ArenaPlayer, { hasFreshRooms: true });

/** Returns the blob of an eater as another page sees it. */
const seenBy = (state, eater) => state.others.find((blob) => blob.eater === eater);

test("two browsers play, and one sees the other grow", LIMIT, async () => {
  const elsewhere = await launch();
  try {
    const first = await stage.open("arena");
    const { room } = await first.watching();
    const second = await stage.open(`arena?room=${room}`, { in: elsewhere });
    await Promise.all([first.play(), second.play()]);
    assert.equal((await second.state()).room, room);
    // The first eats pellets, the second moves to the first.
    let before;
    await Promise.all([
      first.playUntil("the first is seen to grow", () => before === true, grazing),
      second.playUntil("the second sees the first grow", (state) => {
        const seen = seenBy(state, first.number);
        if (seen !== undefined && before?.id === seen.id && seen.mass > before.mass) before = true;
        else if (before !== true) before = seen ?? before;
        return before === true;
      }, (state, step) => first.position ?? grazing(state, step)),
      follow(first, () => before === true),
    ]);
    assertNoComplaints(first, second);
  } finally {
    await elsewhere.close();
  }
});

/** Tracks number and position of a player, for another one who looks for it. */
async function follow(player, isOver) {
  while (!isOver()) {
    const state = await player.state();
    player.number = state.player;
    player.position = state.own[0];
    await pause();
  }
}

test("a player grows, splits, and is on the board", LIMIT, async () => {
  const player = await stage.open("arena", WIDE);
  await player.play();
  await player.playUntil("it is heavy enough to split", (state) => state.mode === "playing" && state.own.some(({ mass }) => mass >= 44), grazing);
  await player.page.keyboard.press("Space");
  await player.until("it is two", (state) => state.own.length > 1 || state.mode === "eaten");
  await player.playUntil("it is on the board of the room", (state) => state.board.some(({ eater }) => eater === state.player), grazing);
  await player.page.keyboard.press("KeyI");
  await player.page.locator('[data-stat="rtt"]', { hasText: "ms" }).waitFor();
  await player.page.screenshot({ path: `${SCREENSHOTS}arena-wide.png` });
  assertNoComplaints(player);
});

test("a colour is chosen before the start, seen in the game, and there again the next time", LIMIT, async () => {
  const player = await stage.open("arena");
  await player.watching();
  await player.page.check('input[value="42"]', { force: true });
  const { own } = await player.play();
  assert.equal(own.length, 1);
  await player.playUntil("the blob has the colour", (state) => state.own[0]?.hue === 42, grazing);
  await player.page.reload();
  await player.play();
  await player.playUntil("the blob has the colour again", (state) => state.own[0]?.hue === 42, grazing);
  assertNoComplaints(player);
});

test("a player who stands still is eaten, sees the result, and plays again", LIMIT, async () => {
  const prey = await stage.open("arena");
  const { room } = await prey.watching();
  const hunter = await stage.open(`arena?room=${room}`);
  await Promise.all([prey.play(), hunter.play()]);
  // The pointer is on its own blob, so it does not move.
  await prey.page.mouse.move(500, 350);
  await hunter.playUntil("the hunter weighs more", (state) => state.mass >= 32, grazing);
  let isEaten = false;
  let position;
  const look = async () => {
    while (!isEaten) {
      const state = await prey.state();
      position = state.own[0];
      isEaten = state.mode === "eaten";
      await pause();
    }
  };
  await Promise.all([look(), hunter.playUntil("the prey is eaten", () => isEaten, (state, step) => position ?? grazing(state, step))]);
  await prey.page.locator("#screen-title", { hasText: /ate you|were eaten/ }).waitFor();
  assert.equal(await prey.page.isVisible("#life"), true);
  await prey.page.screenshot({ path: `${SCREENSHOTS}arena-eaten.png` });
  const { own } = await prey.play();
  assert.ok(own[0].mass >= 20);
  assert.equal(await prey.page.isVisible("#screen"), false);
  assertNoComplaints(prey, hunter);
});

test("the page reconnects after a crash of the server", LIMIT, async () => {
  const player = await stage.open("arena");
  const before = await player.play();
  const name = before.own[0].name;
  await stage.server.kill();
  await player.until("the page notices", (state) => state.phase === "waiting" || state.phase === "connecting");
  await player.page.locator("#cover").waitFor();
  await player.page.locator("#cover-title", { hasText: "Connection lost" }).waitFor();
  await stage.server.start();
  const back = await player.playUntil("the player has reconnected", (state) => state.reconnects > 0 && state.phase === "playing" && state.own.length > 0, grazing);
  assert.equal(back.own[0].name, name);
  await player.until("ticks go on", (state) => state.tick > back.tick + 20);
  assert.deepEqual(player.complaints.filter((complaint) => !OFFLINE.test(complaint)), []);
});

test("touch steers on a narrow screen", LIMIT, async () => {
  const player = await stage.open("arena", NARROW);
  await player.watching();
  await player.page.screenshot({ path: `${SCREENSHOTS}arena-start-narrow.png` });
  await player.page.tap("#play-button");
  const touch = await player.page.context().newCDPSession(player.page);
  const finger = (x, y) => ({ x, y, id: 1 });
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger(200, 500)] });
  await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [finger(260, 440)] });
  const { own } = await player.until("it has begun", (state) => state.own.length > 0);
  await player.until("it moves up and to the right", (state) => {
    const now = state.own[0];
    return state.mode === "eaten" || (now !== undefined && (now.x > own[0].x + 5 || now.x > 990) && (now.y > own[0].y + 5 || now.y > 990));
  });
  await player.page.screenshot({ path: `${SCREENSHOTS}arena-narrow.png` });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
  assertNoComplaints(player);
});
