// Page of Arena.

import { Canvas } from "../shared/canvas.ts";
import { element, write } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Frames } from "../shared/frames.ts";
import { joinGame } from "../shared/join.ts";
import { Notices } from "../shared/notices.ts";
import { RoomConnection } from "../shared/connection.ts";
import { Status } from "../shared/status.ts";
import { ensureSignedIn } from "../shared/visitor.ts";
import { Boards } from "./boards.ts";
import { Camera } from "./camera.ts";
import { schemeOf } from "./colours.ts";
import { Controls } from "./controls.ts";
import { Developer } from "./developer.ts";
import { middleOf } from "./dish.ts";
import { Effects } from "./effects.ts";
import { Game } from "./game.ts";
import { Minimap } from "./minimap.ts";
import { Painter } from "./painter.ts";
import { SPLIT_MASS_MIN, type Steer } from "./rules.ts";
import { Screens } from "./screens.ts";
import { stateOf } from "./state.ts";

/** Update interval of stats and leaderboards. */
const STATS_INTERVAL_MS = 500;

/** Upper bound of a frame's duration, after a pause. */
const FRAME_SECONDS_MAX = 0.1;

/** View radius if the room does not give one. */
const VIEW_UNITS = 450;

const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

const world = element("world", HTMLCanvasElement);
const split = element("split", HTMLElement);
const stick = element("stick", HTMLElement);
const canvas = new Canvas(world);
const camera = new Camera();
const painter = new Painter(canvas, camera);
const minimap = new Minimap(new Canvas(element("minimap", HTMLCanvasElement)));
const notices = new Notices(element("notices", HTMLElement));
const frames = new Frames();
const effects = new Effects(() => stillness.matches);
const boards = new Boards();
const developer = new Developer();
const controls = new Controls(world, split);
let ownName = "";

const game = new Game(effects, {
  mode: (mode, obituary) => {
    document.body.dataset["mode"] = mode;
    if (mode === "eaten" && obituary !== undefined) screens.openDeath(obituary, game.best);
    if (mode !== "playing") return;
    screens.close();
    world.focus({ preventScroll: true });
  },
  hue: (hue) => screens.painted(hue),
});
const screens = new Screens({
  play: () => game.play(),
  paint: (hue) => game.paint(hue),
  renamed: (name) => {
    ownName = name;
    // The room shows the old name until the player rejoins.
    connection.connect();
  },
});
const connection = new RoomConnection<Steer>(() => joinGame<Steer>("arena", { motions: { movement: { position: "linear" } } }), {
  phase: (phase) => status.show(phase),
  room: (room) => {
    game.enter(room);
    room.on("joined", ({ isResumed }) => notices.show(isResumed ? "Reconnected." : "Reconnected, with a new blob.", "good"));
  },
});
const status = new Status(() => connection.retryNow());

expose(() => stateOf(connection, game, frames.times));

// The lobby leads to a match of its own.
element("back", HTMLElement).hidden = !new URL(location.href).searchParams.has("match");
screens.openStart();
connection.connect();
ensureSignedIn().then(
  ({ username }) => {
    ownName = username;
    screens.known(username);
  },
  // The connection shows the error and retries.
  () => undefined,
);
setInterval(writeStats, STATS_INTERVAL_MS);
requestAnimationFrame(draw);

let lastMs = performance.now();
let viewed: { readonly x: number; readonly y: number; readonly radius: number } | undefined;

function draw(nowMs: number): void {
  requestAnimationFrame(draw);
  frames.measure(nowMs, () => {
    const seconds = Math.min(Math.max(0, nowMs - lastMs) / 1000, FRAME_SECONDS_MAX);
    lastMs = nowMs;
    drawFrame(nowMs, seconds);
  });
}

function drawFrame(nowMs: number, seconds: number): void {
  game.advance(seconds);
  effects.advance(seconds);
  const { focus, dish, number } = game;
  if (focus !== undefined) camera.follow(focus, seconds, stillness.matches);
  camera.fit(canvas.width, canvas.height);
  const middle = middleOf(game.own);
  game.steer(controls.steer(middle, camera, performance.now()));
  updateViewed();
  const scheme = schemeOf(darkness.matches);
  const time = stillness.matches ? 0 : nowMs / 1000;
  painter.draw({ dish, effects, scheme, seconds, time, viewed, leader: dish.roomRows[0]?.eater });
  minimap.draw(dish, camera, number, scheme);
  showStick();
}

/** Updates the visible circle, around the possessed blob. */
function updateViewed(): void {
  const { room } = connection;
  const own = room?.ownEntity === undefined ? undefined : game.dish.blobs.get(room.ownEntity);
  const radius = room?.welcome?.world.interestRadius ?? VIEW_UNITS;
  if (own !== undefined) viewed = { x: own.x, y: own.y, radius: radius > 0 ? radius : VIEW_UNITS };
  else if (game.mode === "watching") viewed = undefined;
}

function showStick(): void {
  const shown = controls.stickShown;
  stick.hidden = shown === undefined || game.mode !== "playing";
  if (shown === undefined) return;
  stick.style.left = `${shown.fromX}px`;
  stick.style.top = `${shown.fromY}px`;
  const [x, y] = [shown.x - shown.fromX, shown.y - shown.fromY];
  const length = Math.max(1, Math.hypot(x, y) / 40);
  const knob = stick.firstElementChild;
  if (knob instanceof HTMLElement) knob.style.transform = `translate(${x / length}px, ${y / length}px)`;
}

function writeStats(): void {
  const now = performance.now();
  developer.update(connection.room, game.dish, frames, now);
  boards.show(game.dish.roomRows, game.dish.recordRows, game.dish.eaters, game.number, ownName);
  write(element("mass", HTMLElement), game.mode === "playing" ? game.mass.toLocaleString("en") : "–");
  write(element("best", HTMLElement), game.best === 0 ? "–" : game.best.toLocaleString("en"));
  write(element("rank", HTMLElement), game.rank === undefined ? "–" : `${game.rank}.`);
  split.classList.toggle("ready", game.own.some((blob) => blob.mass >= SPLIT_MASS_MIN));
}
