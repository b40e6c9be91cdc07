// Unit tests of the pages, without a browser.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readBook } from "../book.mjs";
import { withParts } from "../parts.mjs";
import { load } from "./support/source.mjs";

const { Rate } = await load("shared/statistics.ts");
const { percentilesOf } = await load("shared/frames.ts");
const { SHOWN_BYTES_MAX, randomName, problemOf } = await load("shared/visitor.ts");
const { roomCodeOf, roomOf, transportOf } = await load("shared/join.ts");
const { arenaAddress, linkWithParty, partyIdOf } = await load("lobby/links.ts");
const { clockText, durationText, hueOf, messageText, nameOf, namesText, timeText } = await load("lobby/texts.ts");
const { wrappedDifference } = await load("sandbox/world.ts");
const { Dish, middleOf } = await load("arena/dish.ts");
const { Camera } = await load("arena/camera.ts");
const { stepOf } = await load("arena/colours.ts");
const { tokensOf } = await load("quilt/lua.ts");
const { RULES, turnBetween } = await load("quilt/rules.ts");

test("rates cover the last seconds only", () => {
  const rate = new Rate();
  for (let at = 0; at <= 4_000; at += 100) rate.add(10, at);
  assert.ok(Math.abs(rate.perSecond(4_000) - 100) < 6);
  assert.equal(rate.perSecond(10_000), 0);
});

test("percentiles of frame times", () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(percentilesOf(values), { p50: 51, p95: 96, p99: 100 });
  assert.deepEqual(percentilesOf([]), { p50: 0, p95: 0, p99: 0 });
});

test("every generated name is shown as it is in every game", () => {
  const longest = [0, 0.5, 0.999_999].map((share) => randomName(() => share));
  for (const name of [...longest, ...Array.from({ length: 500 }, () => randomName())]) {
    assert.ok(new TextEncoder().encode(name).length <= SHOWN_BYTES_MAX, name);
    assert.equal(problemOf(name), undefined);
  }
});

test("a name is measured in bytes, as the server does", () => {
  assert.equal(problemOf("ü".repeat(64)), undefined);
  assert.ok(problemOf("ü".repeat(65)).length > 0);
  assert.ok(problemOf("   ").length > 0);
});

test("a page's URL selects room and transport", () => {
  const link = (query) => new URL(`http://localhost/arena${query}`);
  assert.equal(roomCodeOf(link("?room=K7QX")), "K7QX");
  assert.deepEqual(roomOf(link("?room=K7QX&match=1")), { code: "K7QX" });
  assert.deepEqual(roomOf(link("?match=01a1e19e-2067")), { id: "01a1e19e-2067" });
  assert.equal(roomOf(link("?room=&match=")), undefined);
  assert.equal(transportOf(link("?transport=websocket")), "websocket");
  assert.equal(transportOf(link("?transport=pigeon")), "auto");
});

test("a link leads to a party, and to the room of a match", () => {
  const page = new URL("http://localhost/lobby?x=1#top");
  const link = linkWithParty(page, "01a1.node-1");
  assert.equal(link.href, "http://localhost/lobby?x=1&party=01a1.node-1");
  assert.equal(partyIdOf(link), "01a1.node-1");
  assert.equal(linkWithParty(link, undefined).href, "http://localhost/lobby?x=1");
  assert.equal(partyIdOf(new URL("http://localhost/lobby?party=")), undefined);
  assert.deepEqual(roomOf(new URL(arenaAddress("a&b"), page)), { id: "a&b" });
});

test("texts of the lobby", () => {
  assert.deepEqual([0, 9_999, 65_000, -5].map(clockText), ["0:00", "0:09", "1:05", "0:00"]);
  const people = ["Ann", "Bob", "Cat"].map((username) => ({ username }));
  assert.deepEqual([1, 2, 3].map((count) => namesText(people.slice(0, count))), ["Ann", "Ann and Bob", "Ann, Bob and Cat"]);
  assert.ok(hueOf("a") !== hueOf("b") && hueOf("Ünïcode") >= 0 && hueOf("Ünïcode") < 360);
});

test("the shortest difference may cross the world's edge", () => {
  assert.equal(wrappedDifference(995, -995, 2000), 10);
  assert.equal(wrappedDifference(10, 20, 2000), 10);
});

/** Returns a room with these blobs and pellets. */
function room(blobs, pellets = [], boards = []) {
  const labels = blobs.map(({ id, label }) => ({ id, fields: label }));
  const channels = { movement: blobs, labels, pellets, boards: boards.map((fields, id) => ({ id, fields })) };
  return { entities: (channel) => channels[channel].map(({ id, fields }) => ({ id, fields })) };
}

function blob(id, eater, mass, x = 0, y = 0) {
  return { id, fields: { position: [x, y], velocity: [0, 0], mass }, label: { eater, name: `eater ${eater}`, hue: 9 } };
}

const pellet = (id, x, y) => ({ id, fields: { position: [x, y], hue: 3 } });

function watchedDish() {
  const eaten = [];
  const dish = new Dish({
    pelletEaten: (what, by) => eaten.push([what.id, by.id]),
    blobEaten: (what, by) => eaten.push([what.id, by.id]),
  });
  return { dish, eaten };
}

test("an entity that vanishes inside a blob was eaten, elsewhere it left the view", () => {
  const { dish, eaten } = watchedDish();
  dish.update(room([blob(1, 1, 400), blob(2, 2, 20, 30, 0), blob(3, 3, 20, 500, 0)], [pellet(10, 20, 0), pellet(11, 400, 400)]), 0.016);
  dish.update(room([blob(1, 1, 421)]), 0.016);
  assert.deepEqual(eaten, [[2, 1], [10, 1]]);
  assert.deepEqual([dish.blobs.size, dish.pellets.size], [1, 0]);
});

test("merging blobs of one eater are not eaten", () => {
  const { dish, eaten } = watchedDish();
  dish.update(room([blob(1, 1, 200), blob(2, 1, 100, 5, 0)]), 0.016);
  dish.update(room([blob(1, 1, 300)]), 0.016);
  assert.deepEqual(eaten, []);
});

test("the room's board and the all-time board are distinguished", () => {
  const { dish } = watchedDish();
  const row = (name) => ({ name, mass: 5, eater: 0 });
  dish.update(room([], [], [{ rows: [row("room")], eaters: 7 }, { rows: [row("ever")] }]), 0.016);
  assert.deepEqual([dish.roomRows[0].name, dish.recordRows[0].name, dish.eaters], ["room", "ever", 7]);
});

test("the center of an eater is its center of mass", () => {
  const { dish } = watchedDish();
  dish.update(room([blob(1, 1, 300, 0, 0), blob(2, 1, 100, 40, 0), blob(3, 2, 900, 500, 0)]), 0.016);
  assert.deepEqual(middleOf(dish.of(1)), { x: 10, y: 0, mass: 400 });
  assert.equal(middleOf([]), undefined);
});

test("the heavier an eater, the wider its view", () => {
  const scaleOf = (mass) => {
    const camera = new Camera();
    camera.follow({ x: 0, y: 0, mass }, 0.016, true);
    camera.fit(1600, 1000);
    return camera.scale;
  };
  assert.ok(scaleOf(20) > scaleOf(200) && scaleOf(200) > scaleOf(2_000));
  assert.equal(scaleOf(40_000), scaleOf(50_000), "up to a limit");
});

test("every hue of the game has a colour", () => {
  for (let hue = 0; hue < 256; hue += 1) assert.ok(stepOf(hue) >= 0 && stepOf(hue) < 64);
});

test("the docs link to their own pages, and other targets become plain text", async () => {
  const project = await mkdtemp(join(tmpdir(), "aether-book-"));
  try {
    await mkdir(join(project, "docs/how-to"), { recursive: true });
    await writeFile(join(project, "docs/README.md"), "# Book\n\n[one](how-to/one.md#the-end) [source](../src/lib.rs) [inside](../ARCHITECTURE.md) [all](how-to/)\n");
    await writeFile(join(project, "docs/how-to/one.md"), "# One\n\n## The end\n\n<!-- compile with:\nlet hidden = 1;\n\nlet too = 2;\n-->\n```html\n<b style=\"x\">\n```\n\n[back](../README.md)\n");
    for (const other of ["ARCHITECTURE.md", "WIRE_FORMAT.md"]) await writeFile(join(project, other), `# ${other}\n`);
    const book = new Map((await readBook(project)).map((page) => [page.address, page]));
    const { html, title } = book.get("/docs");
    assert.equal(title, "Book");
    assert.match(html, /href="\/docs\/how-to\/one#the-end"/);
    assert.match(html, /href="\/docs\/architecture"/);
    assert.match(html, /href="\/docs\/how-to"/);
    assert.doesNotMatch(html, /lib\.rs/);
    assert.match(book.get("/docs/how-to/one").html, /id="the-end"/);
    assert.match(book.get("/docs/how-to/one").html, /&lt;b style=&quot;x&quot;&gt;/);
    assert.doesNotMatch(book.get("/docs/how-to/one").html, /compile with|hidden|too|--(?:>|&gt;)/, "comments are not shown");
    assert.match(book.get("/docs/how-to/one").html, /href="\/docs"/);
    assert.match(book.get("/docs/how-to").html, /href="\/docs\/how-to\/one">One/);
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});

test("parts are inserted into a document with their values", async () => {
  const folder = await mkdtemp(join(tmpdir(), "aether-parts-"));
  try {
    await writeFile(join(folder, "head.html"), '<meta content="{description}">\n<title>{title}</title>\n<hr>\n');
    const document = '<head>\n  <!-- part: head title="Arena · Aether" -->\n</head>\n';
    assert.equal(await withParts(document, folder), "<head>\n  <title>Arena · Aether</title>\n  <hr>\n</head>\n");
    const described = '<!-- part: head title="{title}" description="A game." -->\n';
    assert.equal(await withParts(described, folder), '<meta content="A game.">\n<title>{title}</title>\n<hr>\n');
    assert.equal(await withParts("<p>\n<!-- a comment -->\n", folder), "<p>\n<!-- a comment -->\n");
    await assert.rejects(withParts("<!-- part: foot -->\n", folder), /foot\.html/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a message of another program is shown as text, whatever it contains", () => {
  const shown = (kind, content) => messageText({ kind, content });
  assert.equal(shown("chat", { text: "<b>hi</b>" }), "<b>hi</b>");
  for (const content of [{}, { text: 1 }, { text: { toString: "x" } }]) assert.equal(shown("chat", content), "(a message that this page cannot show)");
  assert.equal(shown("group_joined", { text: "ignored" }), "joined the group.");
  assert.equal(shown("unknown", {}), "sent a message that this page cannot show.");
});

test("times and durations of the lobby", () => {
  const now = new Date(2026, 4, 5, 18, 0);
  assert.equal(timeText(new Date(2026, 4, 5, 9, 7), now), "09:07");
  assert.equal(timeText(new Date(2026, 4, 4, 9, 7), now), "4 May, 09:07");
  const minutes = 60_000;
  assert.deepEqual([0, 5, 59.5, 61, 47 * 60, 49 * 60].map((count) => durationText(count * minutes)), ["1 minute", "5 minutes", "1 hour", "2 hours", "47 hours", "3 days"]);
});

test("a user without a display name is shown by the username", () => {
  assert.deepEqual([nameOf({ displayName: "  ", username: "ann" }), nameOf({ displayName: "Ann", username: "ann" })], ["ann", "Ann"]);
});

test("the colours of the editor leave the source as it is", async () => {
  for (const file of ["quilt.lua", "quilt/bots.lua", "quilt/cloth.lua"]) {
    const source = await readFile(new URL(`../../games/quilt/lua/${file}`, import.meta.url), "utf8");
    assert.equal(tokensOf(source).map(({ text }) => text).join(""), source);
  }
  const kinds = (source) => tokensOf(source).filter(({ kind }) => kind !== "plain").map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds('local x = 1.5 -- "a"'), ["keyword local", "number 1.5", 'comment -- "a"']);
  assert.deepEqual(kinds("aether.world_set(id, 'a\\'b', `{n}`)"), ["name aether", "string 'a\\'b'", "string `{n}`"]);
  assert.deepEqual(kinds("--[[ two\nlines ]] end"), ["comment --[[ two\nlines ]]", "keyword end"]);
});

test("a needle turns and moves by the numbers of the round", () => {
  const world = { *entities() { yield { id: 1, fields: { speed: 10, turn: 2 } }; }, version: () => 1 };
  const needle = { position: [50, 30], heading: 0, seat: 1 };
  RULES.step(needle, { aim: Math.PI }, 0.05, world);
  assert.ok(Math.abs(Math.abs(turnBetween(0, needle.heading)) - 0.1) < 1e-9, "it turns by two radians a second");
  assert.ok(Math.abs(Math.hypot(needle.position[0] - 50, needle.position[1] - 30) - 0.5) < 1e-9);
  for (let tick = 0; tick < 400; tick += 1) RULES.step(needle, { aim: 0 }, 0.05, world);
  assert.deepEqual([needle.position[0], needle.heading < 1e-9 || needle.heading > 6.283], [95.5, true], "it stays on the cloth");
});
