// Rooms and services in headless Chromium.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { complaintsOf } from "../../../../testing/browser.mjs";
import { startServer } from "../../../../testing/server.mjs";
import { Wire } from "../../../../testing/wire.mjs";
import { WASM, launch, pageOf } from "../support/pages.mjs";
import { readmeGame } from "../support/readme.mjs";
import { until } from "../support/until.mjs";

const LIMIT = { timeout: 120_000 };
const IDLE_SECONDS = 4;
/** Page of another server on this machine. The browser gets its content without a server. */
const ELSEWHERE = "http://127.0.0.1:5173";
let server;
let browser;
let contexts = [];
let wires = [];

before(async () => {
  server = await startServer(["log.filter=warn", `connections.idle_seconds=${IDLE_SECONDS}`]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.remove();
});

afterEach(async () => {
  await Promise.all(contexts.map((context) => context.close()));
  for (const wire of wires) wire.close();
  [contexts, wires] = [[], []];
});

async function open(script, { origin = server.url, about, policy } = {}) {
  // A page without a server needs permission for local network access.
  const context = await browser.newContext({ viewport: { width: 800, height: 600 }, permissions: ["local-network-access"] });
  contexts.push(context);
  const page = await context.newPage();
  page.complaints = complaintsOf(page);
  if (about !== undefined) await page.route("**/api/server", about);
  await page.route("**/page", await pageOf(script, policy));
  await page.route(WASM.path, WASM.serve);
  await page.goto(`${origin}/page`);
  return page;
}

/** Page that joins a room and exposes its state. */
async function player({ url = server.url, origin = url, transport = "auto", core = "wasm", about } = {}) {
  const script = `
    import { Client } from "@aether-game/client";
    const client = new Client({ url: ${JSON.stringify(url)} });
    const room = await client.join("sandbox", ${JSON.stringify({ transport, core })});
    const resumed = [];
    room.on("joined", (event) => resumed.push(event.isResumed));
    Object.assign(window, { client, room, shown: () => ({
      phase: room.phase, own: room.own("movement"), entity: room.ownEntity, player: room.welcome?.player,
      userId: client.session.identity.userId, resumed, ...room.statistics,
    }) });
  `;
  const page = await open(script, { origin, about });
  await page.waitForFunction(() => window.room !== undefined, undefined, { timeout: 20_000 }).catch((error) => {
    throw new Error(`${error.message}\n${page.complaints.join("\n")}`);
  });
  await until("the player has a ship", async () => (await shown(page)).own !== undefined);
  return page;
}

const shown = (page) => page.evaluate(() => window.shown());
const place = async (page) => (await shown(page)).own?.fields.position;

async function fly(page) {
  const start = await place(page);
  await page.evaluate(() => window.room.setInput({ thrust: true, left: false, right: false, fire: false }));
  await until("the ship moves", async () => {
    const now = await place(page);
    return now !== undefined && Math.hypot(now[0] - start[0], now[1] - start[1]) > 10;
  });
  await page.evaluate(() => window.room.setInput({ thrust: false, left: false, right: false, fire: false }));
}

const TRANSPORTS = [["websocket", "websocket"], ["webtransport", "webtransport"], ["auto", "webtransport"]];
for (const [transport, expected, core] of ["wasm", "json"].flatMap((core) => TRANSPORTS.map((pair) => [...pair, core]))) {
  test(`a ship is steered over ${transport} with the core ${core}`, LIMIT, async () => {
    const page = await player({ transport, core });
    await fly(page);
    const { transport: used, faults, roundTripMs } = await shown(page);
    assert.deepEqual([used, faults], [expected, 0]);
    assert.ok(Number.isFinite(roundTripMs));
    await page.evaluate(() => window.room.leave());
    assert.equal((await shown(page)).phase, "ended");
    assert.deepEqual(page.complaints, []);
  });
}

test("a page whose policy forbids WebAssembly gets an error with advice", LIMIT, async () => {
  const page = await open(`
    import { Client } from "@aether-game/client";
    const joined = await new Client({ url: ${JSON.stringify(server.url)} }).join("sandbox").catch((error) => error);
    Object.assign(window, { joined: { code: joined.code, text: joined.message } });
  `, { policy: "script-src 'unsafe-inline' 'self'" });
  await page.waitForFunction(() => window.joined !== undefined);
  const { code, text } = await page.evaluate(() => window.joined);
  assert.equal(code, "unsupported");
  assert.match(text, /wasm-unsafe-eval.*core: "json"/);
});

test("WebSocket is used where WebTransport is blocked", LIMIT, async () => {
  const about = async (route) => {
    const response = await route.fetch();
    const info = await response.json();
    // No server listens there.
    info.webTransport.url = "https://127.0.0.1:9/rt";
    await route.fulfill({ response, json: info });
  };
  const page = await player({ about });
  assert.equal((await shown(page)).transport, "websocket");
  await fly(page);
});

test("a page of another server on this machine can play on loopback", LIMIT, async () => {
  for (const transport of ["websocket", "webtransport"]) {
    const page = await player({ origin: ELSEWHERE, transport });
    assert.equal((await shown(page)).transport, transport);
    await fly(page);
  }
});

test("a page of an allowed origin can play on a public server", LIMIT, async () => {
  const publicServer = await startServer(["log.filter=warn", "http.allowed_origins=https://game.example," + ELSEWHERE]);
  try {
    const page = await player({ url: publicServer.url, origin: ELSEWHERE });
    await fly(page);
  } finally {
    await publicServer.remove();
  }
});

test("a page of another origin learns at once why it may not join", LIMIT, async () => {
  const publicServer = await startServer(["log.filter=warn", "http.allowed_origins=https://game.example"]);
  try {
    for (const transport of ["websocket", "webtransport", "auto"]) {
      const page = await open(`
        import { Client } from "@aether-game/client";
        const began = performance.now();
        const client = new Client({ url: ${JSON.stringify(publicServer.url)} });
        const refused = await client.join("sandbox", ${JSON.stringify({ transport })}).catch((error) => error);
        const { code, message, status } = refused;
        Object.assign(window, { refused: { code, message, status, seconds: (performance.now() - began) / 1000 } });
      `, { origin: ELSEWHERE });
      await page.waitForFunction(() => window.refused !== undefined);
      const { code, message, seconds } = await page.evaluate(() => window.refused);
      assert.equal(code, "foreign_origin", message);
      assert.match(message, /http:\/\/127\.0\.0\.1:5173 .*`http\.allowed_origins`/);
      // Without the reason it would try for 20 seconds.
      assert.ok(seconds < 15, `${transport}: ${seconds} s`);
    }
    const logged = publicServer.log.split("\n").filter((line) => line.includes("page refused") && line.includes(ELSEWHERE));
    assert.equal(logged.length, 1, publicServer.log);
    assert.match(logged[0], /http\.allowed_origins/);
  } finally {
    await publicServer.remove();
  }
});

test("a cut connection resumes with the same ship, and a player can switch transports", LIMIT, async () => {
  const wire = await Wire.to(server.address);
  wires.push(wire);
  // The page has one origin and reaches the server over two ports; the WebTransport address is public.
  const about = async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), "access-control-allow-origin": "*" } });
  };
  const page = await player({ url: wire.url, origin: ELSEWHERE, transport: "websocket", about });
  const before = await shown(page);
  wire.cut();
  const back = await until("it is back", async () => {
    const state = await shown(page);
    return state.resumed.length === 1 && state.own !== undefined && state;
  });
  assert.deepEqual([back.resumed, back.entity, back.player], [[true], before.entity, before.player]);
  await page.evaluate(() => window.room.switchTransport("webtransport"));
  const changed = await until("it has changed", async () => {
    const state = await shown(page);
    return state.resumed.length === 2 && state.own !== undefined && state;
  });
  assert.deepEqual([changed.transport, changed.resumed, changed.entity], ["webtransport", [true, true], before.entity]);
  await fly(page);
});

/** Blocks the page for a while, as if it were suspended, then makes it visible. */
function standStill(page, milliseconds) {
  return page.evaluate((forMs) => {
    const untilMs = performance.now() + forMs;
    while (performance.now() < untilMs);
    document.dispatchEvent(new Event("visibilitychange"));
  }, milliseconds);
}

for (const transport of ["websocket", "webtransport"]) {
  test(`a page that was suspended beyond the server's timeout continues over ${transport}`, LIMIT, async () => {
    const page = await player({ transport });
    const before = await shown(page);
    await standStill(page, (IDLE_SECONDS + 3) * 1_000);
    await fly(page);
    const { entity, resumed, phase } = await shown(page);
    assert.deepEqual([entity, phase], [before.entity, "joined"]);
    assert.deepEqual(resumed, [], "browsers answer for suspended pages, so the connection stays open");
  });
}

test("a page whose connection was cut while suspended resumes when visible", LIMIT, async () => {
  const wire = await Wire.to(server.address);
  wires.push(wire);
  const page = await player({ url: wire.url, transport: "websocket" });
  const before = await shown(page);
  const asleep = standStill(page, 3_000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  wire.cut();
  await asleep;
  const back = await until("it is back", async () => {
    const state = await shown(page);
    return state.resumed.length === 1 && state.own !== undefined && state;
  });
  assert.deepEqual([back.resumed, back.entity], [[true], before.entity]);
  await fly(page);
});

test("a visitor is the same after a reload", LIMIT, async () => {
  const page = await player();
  const { userId } = await shown(page);
  await page.evaluate(() => window.client.storage.write("saves", "one", { level: 3 }));
  await page.reload();
  await page.waitForFunction(() => window.room !== undefined);
  assert.equal((await shown(page)).userId, userId);
  assert.deepEqual(await page.evaluate(async () => (await window.client.storage.read("saves", "one")).value), { level: 3 });
});

test("the game of the README runs and stores its data", LIMIT, async () => {
  const game = (await readmeGame()).replace("http://127.0.0.1:7350", server.url);
  const page = await open(game);
  const flown = async () => Number(/flown (\d+)/.exec(await page.title())?.[1] ?? Number.NaN);
  await until("it is there", async () => (await flown()) >= 0);
  await page.keyboard.down("ArrowUp");
  await page.keyboard.down(" ");
  await until("the ship flies", async () => (await flown()) > 100);
  await page.keyboard.up("ArrowUp");
  const painted = await page.evaluate(() => {
    const canvas = document.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((count, value, index) => count + (index % 4 === 3 && value > 0 ? 1 : 0), 0);
  });
  assert.ok(painted > 100, `${painted} pixels are drawn`);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await page.reload();
  await until("the distance is remembered", async () => (await flown()) > 90);
  assert.deepEqual(page.complaints, []);
});
