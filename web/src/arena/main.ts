// Arena: connects, draws, steers.

import { Canvas } from "../shared/canvas.ts";
import { element, write } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Frames } from "../shared/frames.ts";
import { joinGame } from "../shared/join.ts";
import { Notices } from "../shared/notices.ts";
import { Seat } from "../shared/seat.ts";
import { Status } from "../shared/status.ts";
import { arrive } from "../shared/visitor.ts";
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

/** How often figures and boards are written. */
const FIGURES_INTERVAL_MS = 500;

/** A frame that took longer than this was a pause, and nothing is to be made up for. */
const FRAME_SECONDS_MAX = 0.1;

/** How far one sees where the room does not say. */
const SIGHT_UNITS = 450;

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
    // The room knows the old name until one comes in anew.
    seat.take();
  },
});
const seat = new Seat<Steer>(() => joinGame<Steer>("arena", { motions: { movement: { position: "linear" } } }), {
  phase: (phase) => status.show(phase),
  room: (room) => {
    game.enter(room);
    room.on("joined", ({ isResumed }) => notices.show(isResumed ? "Back in the game." : "Back, in a new game.", "good"));
  },
});
const status = new Status(() => seat.hurry());

expose(() => stateOf(seat, game, frames.times));

screens.openStart();
seat.take();
arrive().then(
  ({ username }) => {
    ownName = username;
    screens.known(username);
  },
  // The seat says what is wrong, and tries again.
  () => undefined,
);
setInterval(writeFigures, FIGURES_INTERVAL_MS);
requestAnimationFrame(draw);

let lastMs = performance.now();
let sight: { readonly x: number; readonly y: number; readonly radius: number } | undefined;

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
  look();
  const scheme = schemeOf(darkness.matches);
  const time = stillness.matches ? 0 : nowMs / 1000;
  painter.draw({ dish, effects, scheme, seconds, time, sight, leader: dish.roomRows[0]?.eater });
  minimap.draw(dish, camera, number, scheme);
  showStick();
}

/** Notes from where the player sees: from the blob that it has in hand. */
function look(): void {
  const { room } = seat;
  const own = room?.ownEntity === undefined ? undefined : game.dish.blobs.get(room.ownEntity);
  const radius = room?.welcome?.world.interestRadius ?? SIGHT_UNITS;
  if (own !== undefined) sight = { x: own.x, y: own.y, radius: radius > 0 ? radius : SIGHT_UNITS };
  else if (game.mode === "watching") sight = undefined;
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

function writeFigures(): void {
  const now = performance.now();
  developer.update(seat.room, game.dish, frames, now);
  boards.show(game.dish.roomRows, game.dish.recordRows, game.dish.eaters, game.number, ownName);
  write(element("mass", HTMLElement), game.mode === "playing" ? game.mass.toLocaleString("en") : "–");
  write(element("best", HTMLElement), game.best === 0 ? "–" : game.best.toLocaleString("en"));
  write(element("rank", HTMLElement), game.rank === undefined ? "–" : `${game.rank}.`);
  split.classList.toggle("ready", game.own.some((blob) => blob.mass >= SPLIT_MASS_MIN));
}
