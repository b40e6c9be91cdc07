// Landing page and docs in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArenaPlayer } from "./support/arena_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";

const stage = setStage();

const known = (visitor) => visitor.until("the visitor is signed in", (state) => state.name !== undefined);

test("a new visitor is signed in by the device without a form, and is the same after a reload", LIMIT, async () => {
  const visitor = await stage.open("");
  const first = await known(visitor);
  assert.equal(first.identity.isNew, true);
  assert.equal(await visitor.page.inputValue("#name"), first.identity.username);
  await visitor.page.reload();
  const again = await known(visitor);
  assert.equal(again.identity.userId, first.identity.userId);
  const other = await stage.open("");
  assert.notEqual((await known(other)).identity.userId, first.identity.userId);
  assertNoComplaints(visitor, other);
});

test("a changed name is stored and used in games", LIMIT, async () => {
  const visitor = await stage.open("");
  const { identity } = await known(visitor);
  assert.equal(await visitor.page.isDisabled("#save"), true, "there is nothing to save");
  await visitor.page.fill("#name", "Ünbekannt von Hohenstein");
  await visitor.page.click("#save");
  await visitor.page.getByText("Your name is now Ünbekannt von Hohenstein.").waitFor();
  await visitor.page.reload();
  const again = await known(visitor);
  assert.deepEqual([again.name, again.identity.userId], ["Ünbekannt von Hohenstein", identity.userId]);
  await visitor.page.goto(`${stage.server.url}/arena`);
  const eater = Object.assign(new ArenaPlayer(), { page: visitor.page });
  const { own } = await eater.play();
  assert.equal(own[0].name, "Ünbekannt vo…", "Arena shows 16 bytes of a name");
});

test("a name that is taken is rejected with a message", LIMIT, async () => {
  const [first, second] = [await stage.open(""), await stage.open("")];
  const { name } = await known(first);
  const { name: before } = await known(second);
  await second.page.fill("#name", name);
  await second.page.click("#save");
  await second.page.locator("#name-note.bad").waitFor();
  assert.equal((await second.state()).name, before);
});

test("the page shows players and rooms of the server", LIMIT, async () => {
  const visitor = await stage.open("");
  const player = await stage.open("sandbox");
  await player.until("the player has joined", (state) => state.phase === "playing");
  await visitor.until("the player is counted", (state) => state.players > 0 && state.rooms > 0);
  await visitor.page.locator('[data-players="sandbox"]', { hasText: "1 player now" }).waitFor();
});

test("every link of the pages and of the docs works", LIMIT, async () => {
  const { url } = stage.server;
  const pages = new Map();
  const waiting = [new URL(url).pathname];
  const named = [];
  while (waiting.length > 0) {
    const path = waiting.pop();
    if (pages.has(path)) continue;
    const response = await fetch(new URL(path, url));
    assert.equal(response.status, 200, `${path} of ${named.find((link) => link.path === path)?.from}`);
    const isPage = response.headers.get("content-type").startsWith("text/html");
    const text = await response.text();
    pages.set(path, text);
    if (!isPage) continue;
    for (const [, href] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const link = new URL(href, new URL(path, url));
      if (link.origin !== new URL(url).origin) continue;
      named.push({ from: path, path: link.pathname, anchor: link.hash.slice(1) });
      waiting.push(link.pathname);
    }
  }
  for (const { from, path, anchor } of named.filter(({ anchor }) => anchor !== "")) {
    assert.ok(pages.get(path).includes(` id="${decodeURIComponent(anchor)}"`), `${from} names ${path}#${anchor}`);
  }
  for (const path of ["/", "/arena", "/outpost", "/quilt", "/sandbox", "/lobby", "/docs", "/docs/start"]) assert.ok(pages.has(path), path);
});

test("every game is linked", LIMIT, async () => {
  for (const game of ["arena", "outpost", "quilt", "sandbox"]) {
    const visitor = await stage.open("");
    await visitor.page.click(`[data-game="${game}"] a`);
    await visitor.page.waitForURL(`**/${game}`);
  }
});

test("the page fits a wide and a narrow screen, in dark and light", LIMIT, async () => {
  for (const [name, options] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const colorScheme of ["dark", "light"]) {
      const visitor = await stage.open("", { ...options, colorScheme });
      await known(visitor);
      await visitor.page.locator('#live[data-live="here"]').waitFor();
      assert.ok((await visitor.overflow()) <= 0, "the page does not overflow horizontally");
      await visitor.page.screenshot({ path: `${SCREENSHOTS}landing-${name}-${colorScheme}.png`, fullPage: true });
      assertNoComplaints(visitor);
    }
  }
});
