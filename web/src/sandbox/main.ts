// Page of the sandbox.

import { Canvas } from "../shared/canvas.ts";
import { button, element, write } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Notices } from "../shared/notices.ts";
import type { Phase } from "../shared/connection.ts";
import { Status } from "../shared/status.ts";
import { Camera } from "./camera.ts";
import { Controls } from "./controls.ts";
import { Flight } from "./flight.ts";
import { Minimap } from "./minimap.ts";
import { palette } from "./palette.ts";
import { Panel } from "./panel.ts";
import { Playground } from "./playground.ts";
import { Rooms } from "./rooms.ts";
import { stateOf } from "./state.ts";
import { View } from "./view.ts";
import { World } from "./world.ts";

/** Update interval of the stats. */
const STATS_INTERVAL_MS = 500;

/** Upper bound of a frame's duration, after a pause. */
const FRAME_SECONDS_MAX = 0.1;

const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

const world = new World();
const notices = new Notices(element("notices", HTMLElement));
const flight = new Flight(new URL(location.href), {
  phase: showPhase,
  notice: (text, tone) => notices.show(text, tone),
});
const worldCanvas = element("world", HTMLCanvasElement);
const canvas = new Canvas(worldCanvas);
const camera = new Camera();
const view = new View(canvas, camera);
const minimap = new Minimap(new Canvas(element("minimap", HTMLCanvasElement)));
const playground = new Playground(flight, world, camera, worldCanvas, notices);
const panel = new Panel(flight, world);
const rooms = new Rooms(flight, notices);
const status = new Status(() => flight.connection.retryNow());
new Controls((keys) => flight.hold(keys), document.querySelectorAll<HTMLElement>("[data-control]"));

expose(() => stateOf(flight, world));

for (const kind of ["websocket", "webtransport"] as const) {
  button(`transport-${kind}`).addEventListener("click", () => {
    flight.switchTransport(kind);
    panel.update(performance.now());
  });
}

// After a mouse click, keys steer the ship again; keyboard users keep the focus.
document.addEventListener("click", (event) => {
  const clicked = event.target instanceof HTMLElement && event.target.closest("button") !== null;
  if (clicked && event.detail > 0) worldCanvas.focus({ preventScroll: true });
});

setInterval(() => panel.update(performance.now()), STATS_INTERVAL_MS);

let lastMs = performance.now();
requestAnimationFrame(draw);
flight.connection.connect();
worldCanvas.focus({ preventScroll: true });

function draw(): void {
  requestAnimationFrame(draw);
  const now = performance.now();
  const seconds = Math.min((now - lastMs) / 1000, FRAME_SECONDS_MAX);
  lastMs = now;
  world.update(flight.room, now);
  camera.fit(canvas.width, canvas.height, world.shape.interestRadius);
  const own = world.ownShip?.pose;
  if (own !== undefined) camera.follow(own.x, own.y, seconds, world.measure, stillness.matches);
  const colours = palette(darkness.matches);
  view.draw({ world, keys: flight.held, palette: colours, stillness: stillness.matches, timeMs: now, placing: playground.placing });
  minimap.draw(world, camera, colours);
}

function showPhase(phase: Phase): void {
  status.show(phase);
  panel.update(performance.now());
  playground.update();
  rooms.update();
  write(element("version", HTMLElement), flight.server === undefined ? "" : `v${flight.server.version}`);
  write(element("role", HTMLElement), flight.role ?? "");
  if (phase.name === "playing") void rooms.refresh();
}
