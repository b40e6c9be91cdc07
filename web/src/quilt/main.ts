// Page of Quilt.

import type { Room } from "@aether-game/client";
import { Canvas } from "../shared/canvas.ts";
import { RoomConnection } from "../shared/connection.ts";
import { element } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { Frames } from "../shared/frames.ts";
import { joinGame } from "../shared/join.ts";
import { Notices } from "../shared/notices.ts";
import { Status } from "../shared/status.ts";
import { Camera } from "./camera.ts";
import { ClothPicture } from "./cloth_picture.ts";
import { Controls } from "./controls.ts";
import { openEditor } from "./editor.ts";
import { Effects } from "./effects.ts";
import { schemeOf } from "./fabrics.ts";
import { Hud, percent } from "./hud.ts";
import { Minimap } from "./minimap.ts";
import { Painter } from "./painter.ts";
import { type Needle, Quilt } from "./quilt.ts";
import { type Pair, RULES, type Steer } from "./rules.ts";
import { stateOf } from "./state.ts";

/** Update interval of texts. */
const TEXTS_INTERVAL_MS = 200;

/** Time in which the hints are shown after the player has begun to steer. */
const HINTS_MS = 20_000;

/** Upper bound of a frame's duration, after a pause. */
const FRAME_SECONDS_MAX = 0.1;

const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

const world = element("world", HTMLCanvasElement);
const stick = element("stick", HTMLElement);
const hints = element("hints", HTMLElement);
const canvas = new Canvas(world);
const camera = new Camera();
const picture = new ClothPicture();
const painter = new Painter(canvas, camera, picture);
const minimap = new Minimap(new Canvas(element("minimap", HTMLCanvasElement)));
const notices = new Notices(element("notices", HTMLElement));
const frames = new Frames();
const effects = new Effects(() => stillness.matches);
const quilt = new Quilt();
const hud = new Hud();
const controls = new Controls(world);

/** Seat of the player, known since its first needle. */
let ownSeat: number | undefined;
let ownPoints: readonly Pair[] = [];
let shownPhase = "sewing";
/** Time of the first steering. */
let beganMs: number | undefined;

const connection = new RoomConnection<Steer>(() => joinGame<Steer>("quilt", { rules: RULES }), {
  phase: (phase) => status.show(phase),
  room: entered,
});
const status = new Status(() => connection.retryNow());

expose(() => stateOf(connection, quilt, ownSeat, frames.times));
openEditor(notices);
connection.connect();
world.focus({ preventScroll: true });
setInterval(writeTexts, TEXTS_INTERVAL_MS);
requestAnimationFrame(draw);

let lastMs = performance.now();

function entered(room: Room<Steer>): void {
  forget();
  room.on("joined", ({ isResumed }) => {
    if (!isResumed) forget();
    notices.show(isResumed ? "Reconnected." : "Reconnected, with a new needle.", "good");
  });
  room.on("event", ({ feature, action, fields }) => {
    if (feature !== "quilt") return;
    if (action === "snipped") snipped(Number(fields["seat"]), Number(fields["by"]), String(fields["reason"]));
    if (action === "sewn" && Number(fields["seat"]) === ownSeat) hints.classList.add("done");
  });
}

function forget(): void {
  quilt.clear();
  effects.clear();
  picture.redraw(quilt);
  [ownSeat, ownPoints] = [undefined, []];
}

function snipped(seat: number, by: number, reason: string): void {
  const needle = quilt.needles.find((each) => each.seat === seat);
  if (needle !== undefined) effects.snipped(quilt.threads.get(needle.id) ?? [], seat);
  const nameOf = (number: number): string => quilt.seats.get(number)?.name ?? "Someone";
  if (seat === ownSeat) {
    const why = { snipped: `${nameOf(by)} snipped your thread`, spool: "You ran out of thread", covered: `${nameOf(by)} sewed over your last patch` }[reason];
    if (why !== undefined) hud.announce(why, "A new needle is on its way.", 2.4);
  } else if (by === ownSeat && by !== 0) {
    notices.show(`You snipped ${nameOf(seat)}.`, "good");
  }
}

function draw(nowMs: number): void {
  requestAnimationFrame(draw);
  frames.measure(nowMs, () => {
    const seconds = Math.min(Math.max(0, nowMs - lastMs) / 1000, FRAME_SECONDS_MAX);
    lastMs = nowMs;
    drawFrame(seconds);
  });
}

function drawFrame(seconds: number): void {
  const scheme = schemeOf(darkness.matches);
  const changes = connection.room === undefined ? [] : quilt.update(connection.room);
  picture.update(quilt, changes, scheme);
  effects.sewn(changes);
  effects.advance(seconds);
  camera.fit(canvas.width, canvas.height);
  const own = quilt.needles.find(({ isOwn }) => isOwn);
  if (own !== undefined) steer(own, seconds);
  painter.draw({ quilt, effects, scheme, ownSeat });
  minimap.draw(quilt, scheme);
  showStick();
}

function steer(own: Needle, seconds: number): void {
  ownSeat = own.seat;
  ownPoints = quilt.threads.get(own.id) ?? [];
  camera.follow(own.x, own.y, seconds, stillness.matches);
  const aim = controls.direction(own, camera);
  if (aim === undefined) return;
  connection.room?.setInput({ aim });
  beganMs ??= performance.now();
  if (performance.now() - beganMs > HINTS_MS) hints.classList.add("done");
}

function showStick(): void {
  const shown = controls.stick;
  stick.hidden = shown === undefined;
  if (shown === undefined) return;
  stick.style.left = `${shown.fromX}px`;
  stick.style.top = `${shown.fromY}px`;
  const knob = stick.firstElementChild;
  if (knob instanceof HTMLElement) knob.style.transform = `translate(${shown.x - shown.fromX}px, ${shown.y - shown.fromY}px)`;
}

function writeTexts(): void {
  hud.show(quilt, ownSeat, ownPoints.length, schemeOf(darkness.matches));
  const { round } = quilt;
  if (round.phase === shownPhase) return;
  shownPhase = round.phase;
  if (round.phase === "sewing") return hud.announce("A new quilt", "Sew as much of it as you can.", 2.4);
  const winner = quilt.seats.get(round.winner);
  if (winner === undefined) return;
  const title = winner.seat === ownSeat ? "You made most of this quilt!" : `${winner.name} made most of this quilt`;
  hud.announce(title, `${percent(winner.cells)} of the cloth.`, 7);
}
