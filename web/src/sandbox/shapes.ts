// Ships, objects and shots, drawn around the origin with y pointing up.

import { type Palette, shipColour } from "./palette.ts";
import type { Look } from "./world.ts";

type Context = CanvasRenderingContext2D;

/** Distance from a ship's center to its nose in units. */
const SHIP_LENGTH = 7.5;

export interface ShipLook {
  readonly colour: number;
  readonly hull: number;
  readonly thrust: boolean;
  readonly own: boolean;
  /** From 1 at the moment of a hit down to 0. */
  readonly hit: number;
  /** Time in seconds for animations; constant if the player prefers reduced motion. */
  readonly time: number;
}

export function drawShip(context: Context, angle: number, look: ShipLook, palette: Palette): void {
  const colour = shipColour(look.colour, palette.dark);
  context.save();
  context.rotate(angle);
  if (look.thrust) drawFlame(context, look.time);
  context.beginPath();
  context.moveTo(SHIP_LENGTH, 0);
  context.lineTo(-SHIP_LENGTH * 0.72, SHIP_LENGTH * 0.62);
  context.quadraticCurveTo(-SHIP_LENGTH * 0.3, 0, -SHIP_LENGTH * 0.72, -SHIP_LENGTH * 0.62);
  context.closePath();
  // Filled with the background first, so that a wake does not shine through.
  context.fillStyle = palette.background;
  context.shadowColor = colour;
  context.shadowBlur = palette.dark ? (look.own ? 18 : 10) : 0;
  context.fill();
  context.shadowBlur = 0;
  context.fillStyle = shipColour(look.colour, palette.dark, look.own ? 0.95 : 0.35);
  context.fill();
  context.lineWidth = 0.9;
  context.lineJoin = "round";
  context.strokeStyle = look.own && palette.dark ? "#ffffff" : colour;
  context.stroke();
  context.restore();
  drawHull(context, look, palette);
}

/** Draws a ring for the remaining hull, and a flash after a hit. */
function drawHull(context: Context, look: ShipLook, palette: Palette): void {
  if (look.hull < 100) {
    const from = Math.PI / 2;
    context.lineWidth = 0.8;
    context.strokeStyle = palette.gridCoarse;
    circle(context, SHIP_LENGTH * 1.65);
    context.stroke();
    context.strokeStyle = look.hull > 50 ? palette.good : palette.bad;
    context.beginPath();
    context.arc(0, 0, SHIP_LENGTH * 1.65, from, from + (look.hull / 100) * 2 * Math.PI);
    context.stroke();
  }
  if (look.hit > 0) {
    context.globalAlpha = look.hit;
    context.lineWidth = 1.6;
    context.strokeStyle = palette.bad;
    circle(context, SHIP_LENGTH * (2.6 - look.hit));
    context.stroke();
    context.globalAlpha = 1;
  }
}

function drawFlame(context: Context, time: number): void {
  const length = SHIP_LENGTH * (1.5 + 0.3 * Math.sin(time * 42) + 0.15 * Math.sin(time * 97));
  const gradient = context.createLinearGradient(-SHIP_LENGTH * 0.4, 0, -SHIP_LENGTH * 0.4 - length, 0);
  gradient.addColorStop(0, "rgba(255, 236, 180, 0.95)");
  gradient.addColorStop(0.35, "rgba(255, 160, 80, 0.7)");
  gradient.addColorStop(1, "rgba(255, 90, 60, 0)");
  context.fillStyle = gradient;
  context.beginPath();
  context.moveTo(-SHIP_LENGTH * 0.45, SHIP_LENGTH * 0.3);
  context.lineTo(-SHIP_LENGTH * 0.4 - length, 0);
  context.lineTo(-SHIP_LENGTH * 0.45, -SHIP_LENGTH * 0.3);
  context.closePath();
  context.fill();
}

export function drawThing(context: Context, look: Look, angle: number, id: number, time: number, palette: Palette): void {
  context.save();
  context.rotate(angle);
  context.lineWidth = 0.8;
  context.lineJoin = "round";
  if (look === "crate") drawCrate(context, palette);
  else if (look === "rock") drawRock(context, id, palette);
  else drawBeacon(context, id, time, palette);
  context.restore();
}

function drawCrate(context: Context, palette: Palette): void {
  const half = 5.5;
  context.fillStyle = palette.crate;
  context.strokeStyle = palette.crateEdge;
  context.beginPath();
  context.roundRect(-half, -half, 2 * half, 2 * half, 1.2);
  context.fill();
  context.stroke();
  context.beginPath();
  context.moveTo(-half, -half);
  context.lineTo(half, half);
  context.moveTo(-half, half);
  context.lineTo(half, -half);
  context.globalAlpha = 0.5;
  context.stroke();
  context.globalAlpha = 1;
}

/** The corners of a rock derive from its id, so that it looks the same for everyone. */
function drawRock(context: Context, id: number, palette: Palette): void {
  const corners = 9;
  context.fillStyle = palette.rock;
  context.strokeStyle = palette.rockEdge;
  context.beginPath();
  for (let corner = 0; corner < corners; corner += 1) {
    const radius = 5.2 + 2.2 * noise(id * 31 + corner);
    const at = (corner / corners) * 2 * Math.PI;
    const [x, y] = [radius * Math.cos(at), radius * Math.sin(at)];
    if (corner === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  context.closePath();
  context.fill();
  context.stroke();
  context.globalAlpha = 0.35;
  circle(context, 1.3, 1.8, 1.4);
  context.stroke();
  circle(context, 0.8, -2, -1.2);
  context.stroke();
  context.globalAlpha = 1;
}

function drawBeacon(context: Context, id: number, time: number, palette: Palette): void {
  const pulse = 0.5 + 0.5 * Math.sin(time * 2.4 + noise(id) * 6);
  context.strokeStyle = palette.beacon;
  context.fillStyle = palette.beacon;
  context.globalAlpha = 0.12 + 0.12 * pulse;
  circle(context, 8 + 3 * pulse);
  context.fill();
  context.globalAlpha = 0.9;
  context.beginPath();
  for (let corner = 0; corner < 4; corner += 1) {
    const at = (corner / 4) * 2 * Math.PI;
    if (corner === 0) context.moveTo(5, 0);
    else context.lineTo(5 * Math.cos(at), 5 * Math.sin(at));
  }
  context.closePath();
  context.stroke();
  circle(context, 1.7);
  context.fill();
  context.globalAlpha = 1;
}

/** Draws a shot with a tail. */
export function drawShot(context: Context, velocityX: number, velocityY: number, palette: Palette): void {
  const speed = Math.hypot(velocityX, velocityY);
  const [x, y] = speed > 0 ? [velocityX / speed, velocityY / speed] : [0, 0];
  const gradient = context.createLinearGradient(0, 0, -x * 12, -y * 12);
  gradient.addColorStop(0, palette.shot);
  gradient.addColorStop(1, "rgba(255, 200, 120, 0)");
  context.strokeStyle = gradient;
  context.lineCap = "round";
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(-x * 12, -y * 12);
  context.stroke();
  context.fillStyle = palette.shot;
  circle(context, 1.2);
  context.fill();
}

function circle(context: Context, radius: number, x = 0, y = 0): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/** Deterministic pseudo-random number in [0, 1). */
export function noise(seed: number): number {
  const wave = Math.sin(seed * 12.9898 + 4.1414) * 43_758.545_3;
  return wave - Math.floor(wave);
}
