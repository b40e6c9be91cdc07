// The first page: connects, draws, and shows how it goes.

import { Camera } from "./camera.ts";
import { Canvas } from "./canvas.ts";
import { Connection } from "./connection.ts";
import { Controls } from "./controls.ts";
import { button, element } from "./elements.ts";
import { Minimap } from "./minimap.ts";
import { Notices } from "./notices.ts";
import { palette } from "./palette.ts";
import { Panel } from "./panel.ts";
import { Playground } from "./playground.ts";
import type { RoomChoice } from "./protocol.ts";
import { Rooms } from "./rooms.ts";
import { Status } from "./status.ts";
import { type PageState, stateOf } from "./state.ts";
import type { TransportKind } from "./transport/transport.ts";
import { View } from "./view.ts";
import { World } from "./world.ts";

declare global {
  interface Window {
    /** What the page knows, to look at from the console and from tests. */
    readonly aether: { readonly state: () => PageState };
  }
}

/** How often the figures are written. */
const FIGURES_INTERVAL_MS = 500;

/** A frame that took longer than this was a pause, and nothing is to be made up for. */
const FRAME_SECONDS_MAX = 0.1;

const address = new URL(location.href);
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

const world = new World();
const notices = new Notices(element("notices", HTMLElement));
const connection = new Connection(
  world,
  {
    phase: () => showPhase(),
    notice: (text, tone) => notices.show(text, tone),
  },
  roomOf(address),
  transportOf(address),
);
const worldCanvas = element("world", HTMLCanvasElement);
const canvas = new Canvas(worldCanvas);
const camera = new Camera();
const view = new View(canvas, camera);
const minimap = new Minimap(new Canvas(element("minimap", HTMLCanvasElement)));
const playground = new Playground(connection, world, camera, worldCanvas, notices);
const panel = new Panel(connection, world);
const rooms = new Rooms(connection, notices);
const status = new Status(connection);
new Controls(
  (keys) => {
    connection.pilot.keys = keys;
  },
  document.querySelectorAll<HTMLElement>("[data-control]"),
);

Object.defineProperty(window, "aether", {
  value: Object.freeze({ state: () => stateOf(connection, world) }),
});

for (const kind of ["websocket", "webtransport"] as const) {
  button(`transport-${kind}`).addEventListener("click", () => {
    connection.switchTransport(kind);
    panel.update(performance.now());
  });
}

// After a click the keys belong to the ship again; who came by keyboard keeps the focus.
document.addEventListener("click", (event) => {
  const clicked = event.target instanceof HTMLElement && event.target.closest("button") !== null;
  if (clicked && event.detail > 0) worldCanvas.focus({ preventScroll: true });
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) connection.hurry();
});
addEventListener("online", () => connection.hurry());
addEventListener("pagehide", () => connection.leave());
addEventListener("pageshow", (event) => {
  // The page comes back from the browser's cache, where it had left its room.
  if (event.persisted) connection.connect();
});

setInterval(() => {
  const now = performance.now();
  panel.update(now);
  status.update(now);
}, FIGURES_INTERVAL_MS);

let lastMs = performance.now();
requestAnimationFrame(draw);
connection.connect();
worldCanvas.focus({ preventScroll: true });

function draw(): void {
  requestAnimationFrame(draw);
  const now = performance.now();
  const seconds = Math.min((now - lastMs) / 1000, FRAME_SECONDS_MAX);
  lastMs = now;
  const shownTick = world.clock.shownTick(now);
  world.prune(shownTick);
  camera.fit(canvas.width, canvas.height, world.shape.interestRadius);
  const own = world.ownShip?.track.at(shownTick, world.measure);
  if (own !== undefined) camera.follow(own.x, own.y, seconds, world.measure, stillness.matches);
  const colours = palette(darkness.matches);
  view.draw({
    world,
    shownTick,
    keys: connection.pilot.keys,
    palette: colours,
    stillness: stillness.matches,
    timeSeconds: now / 1000,
    placing: playground.placing,
  });
  minimap.draw(world, camera, shownTick, colours);
}

function showPhase(): void {
  const now = performance.now();
  status.update(now);
  panel.update(now);
  playground.update();
  rooms.update();
  if (connection.phase.name === "playing") void rooms.refresh();
}

function roomOf(link: URL): RoomChoice | undefined {
  const code = link.searchParams.get("room");
  return code === null || code === "" ? undefined : { code };
}

function transportOf(link: URL): TransportKind {
  return link.searchParams.get("transport") === "webtransport" ? "webtransport" : "websocket";
}
