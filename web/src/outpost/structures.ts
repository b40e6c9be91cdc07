// Structures, seen from above with a little of their front.

import type { KindName } from "./channels.ts";
import { chanceAt } from "./chance.ts";
import type { Palette } from "./palette.ts";

/** Appearance of a structure. */
export interface Look {
  readonly kind: KindName;
  /** Size of its cell in pixels. */
  readonly size: number;
  /** Remaining health from 0 to 1. */
  readonly health: number;
  readonly column: number;
  readonly row: number;
  /** Neighbours that it joins. */
  readonly joins: Joins;
  /** Openness of a door from 0 to 1; aim of a turret on the screen. */
  readonly openness: number;
  readonly aimAngle: number;
  /** Colour of its builder. */
  readonly mark: string;
}

export interface Joins {
  readonly left: boolean;
  readonly right: boolean;
  readonly up: boolean;
  readonly down: boolean;
}

export const ALONE: Joins = { left: false, right: false, up: false, down: false };

/** Visible height of the front, as a share of the cell. */
const FRONT = 0.2;

const STONE = { top: "#aab4bb", light: "#c3ccd1", dark: "#8b959d", front: "#626b73", joint: "#7a848c" };
const WOOD = { top: "#b3824c", light: "#cd9c63", dark: "#8a6135", front: "#65462a" };
const IRON = { top: "#56626e", light: "#73818e", dark: "#3c4650", front: "#2d353d" };

type Pen = CanvasRenderingContext2D;

const DRAWINGS: Readonly<Record<KindName, (pen: Pen, look: Look, palette: Palette) => void>> = {
  Wall: wall,
  Door: door,
  Fence: fence,
  Turret: turret,
};

/** Draws a structure whose cell has its upper left corner at the origin. */
export function drawStructure(pen: Pen, look: Look, palette: Palette): void {
  DRAWINGS[look.kind](pen, look, palette);
}

/** Draws its shadow. Called before all structures, so that no shadow lies on one. */
export function drawShadow(pen: Pen, kind: KindName, size: number, palette: Palette): void {
  pen.fillStyle = palette.shadow;
  if (kind === "Fence") return pen.fillRect(size * 0.06, size * 0.42, size * 0.98, size * 0.3);
  if (kind === "Door") return pen.fillRect(size * 0.1, size * 0.1, size * 0.95, size * 0.98);
  pen.fillRect(size * 0.08, size * 0.08, size * 1.04, size * 1.06);
}

function wall(pen: Pen, { size, health, column, row, joins }: Look): void {
  const front = size * FRONT;
  if (!joins.down) {
    pen.fillStyle = STONE.front;
    pen.fillRect(0, size - front, size, front + 0.5);
    pen.strokeStyle = "rgb(0 0 0 / 22%)";
    pen.lineWidth = 1;
    pen.beginPath();
    for (const share of [0.25, 0.6, 0.85]) {
      pen.moveTo(size * share, size - front);
      pen.lineTo(size * share, size);
    }
    pen.stroke();
  }
  const height = joins.down ? size : size - front;
  pen.fillStyle = STONE.top;
  pen.fillRect(0, 0, size + 0.5, height + 0.5);
  // Bricks in shifted rows.
  for (let line = 0; line < 3; line += 1) {
    const [top, bottom] = [(height / 3) * line, (height / 3) * (line + 1)];
    const shift = (line % 2) * 0.25;
    for (let stone = 0; stone < 3; stone += 1) {
      const [from, to] = [stone * 0.5 - shift, stone * 0.5 + 0.5 - shift].map((share) => Math.min(1, Math.max(0, share)) * size) as [number, number];
      const chance = chanceAt(column * 8 + stone, row * 8 + line);
      pen.fillStyle = chance < 0.4 ? STONE.light : chance > 0.75 ? STONE.dark : STONE.top;
      if (to - from > 2) pen.fillRect(from + 1, top + 1, to - from - 2, bottom - top - 2);
    }
  }
  pen.strokeStyle = STONE.joint;
  pen.lineWidth = Math.max(1, size * 0.03);
  pen.beginPath();
  for (let line = 1; line < 3; line += 1) {
    pen.moveTo(0, (height / 3) * line);
    pen.lineTo(size, (height / 3) * line);
  }
  pen.stroke();
  rim(pen, size, height, joins);
  cracks(pen, size, health, column, row);
}

/** Draws a light edge where no neighbour joins. */
function rim(pen: Pen, size: number, height: number, joins: Joins): void {
  pen.lineWidth = Math.max(1.5, size * 0.045);
  const edges = [
    [joins.up, "rgb(255 255 255 / 45%)", 0, 0, size, 0],
    [joins.left, "rgb(255 255 255 / 28%)", 0, 0, 0, height],
    [joins.right, "rgb(0 0 0 / 26%)", size, 0, size, height],
    [joins.down, "rgb(0 0 0 / 22%)", 0, height, size, height],
  ] as const;
  for (const [isJoined, colour, fromX, fromY, toX, toY] of edges) {
    if (isJoined) continue;
    pen.strokeStyle = colour;
    pen.beginPath();
    pen.moveTo(fromX, fromY);
    pen.lineTo(toX, toY);
    pen.stroke();
  }
}

/** Draws more cracks the less health is left. */
function cracks(pen: Pen, size: number, health: number, column: number, row: number): void {
  const count = Math.ceil((1 - health) * 5);
  pen.strokeStyle = "rgb(20 22 26 / 60%)";
  pen.lineWidth = Math.max(1, size * 0.03);
  for (let number = 0; number < count; number += 1) {
    const chance = (n: number): number => chanceAt(column * 64 + number * 8 + n, row);
    let [x, y] = [chance(0) * size, chance(1) * size * 0.8];
    pen.beginPath();
    pen.moveTo(x, y);
    for (let turn = 0; turn < 3; turn += 1) {
      x = Math.min(size, Math.max(0, x + (chance(2 + turn) - 0.5) * size * 0.5));
      y = Math.min(size * 0.85, Math.max(0, y + chance(5 + turn) * size * 0.22));
      pen.lineTo(x, y);
    }
    pen.stroke();
  }
}

function door(pen: Pen, { size, health, column, row, joins, openness }: Look, palette: Palette): void {
  // A door lies between its neighbours; with neighbours above and below, players walk through it sideways.
  const isUpright = (joins.up || joins.down) && !(joins.left || joins.right);
  pen.save();
  if (isUpright) {
    pen.translate(size, 0);
    pen.rotate(Math.PI / 2);
  }
  pen.fillStyle = palette.isDark ? "#2d2620" : "#8f7c5f";
  pen.fillRect(0, size * 0.18, size, size * 0.64);
  const leaf = size * 0.42 * (1 - openness * 0.86);
  for (const side of [0, 1]) {
    const x = side === 0 ? size * 0.08 : size * 0.92 - leaf;
    pen.fillStyle = WOOD.front;
    pen.fillRect(x, size * 0.66, leaf, size * 0.1);
    pen.fillStyle = WOOD.top;
    pen.fillRect(x, size * 0.32, leaf, size * 0.36);
    pen.fillStyle = WOOD.light;
    pen.fillRect(x, size * 0.32, leaf, size * 0.07);
    pen.strokeStyle = WOOD.dark;
    pen.lineWidth = Math.max(1, size * 0.025);
    pen.strokeRect(x + 0.5, size * 0.32, Math.max(0, leaf - 1), size * 0.36);
  }
  for (const x of [0, size * 0.88]) {
    pen.fillStyle = IRON.front;
    pen.fillRect(x, size * 0.8, size * 0.12, size * 0.12);
    pen.fillStyle = IRON.light;
    pen.fillRect(x, size * 0.1, size * 0.12, size * 0.72);
  }
  pen.restore();
  if (health < 1) cracks(pen, size, health, column, row);
}

function fence(pen: Pen, { size, health, joins }: Look): void {
  const middle = size / 2;
  const isCross = joins.up || joins.down;
  const isAlong = joins.left || joins.right || !isCross;
  const rail = Math.max(2, size * 0.09);
  const rails = (draw: (offset: number) => void): void => {
    for (const offset of [-size * 0.13, size * 0.1]) draw(offset);
  };
  pen.lineCap = "butt";
  const line = (colour: string, width: number, from: readonly [number, number], to: readonly [number, number]): void => {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(from[0], from[1]);
    pen.lineTo(to[0], to[1]);
    pen.stroke();
  };
  if (isCross) {
    rails((offset) => line(WOOD.dark, rail, [middle + offset, joins.up ? 0 : middle], [middle + offset, joins.down ? size : middle]));
  }
  if (isAlong) {
    const [from, to] = isCross ? [joins.left ? 0 : middle, joins.right ? size : middle] : [0, size];
    rails((offset) => {
      line(WOOD.front, rail, [from, middle + offset + rail * 0.5], [to, middle + offset + rail * 0.5]);
      line(WOOD.light, rail * 0.8, [from, middle + offset], [to, middle + offset]);
    });
  }
  const posts = isAlong && !isCross ? [0.2, 0.5, 0.8] : [0.5];
  for (const share of posts) {
    // A damaged fence loses a post.
    if (health < 0.55 && share === 0.8) continue;
    pen.fillStyle = WOOD.front;
    pen.fillRect(size * share - size * 0.06, middle - size * 0.14, size * 0.12, size * 0.4);
    pen.fillStyle = WOOD.top;
    pen.fillRect(size * share - size * 0.06, middle - size * 0.24, size * 0.12, size * 0.3);
    pen.fillStyle = WOOD.light;
    pen.fillRect(size * share - size * 0.06, middle - size * 0.24, size * 0.12, size * 0.07);
  }
}

function turret(pen: Pen, { size, health, column, row, aimAngle, mark }: Look): void {
  const front = size * FRONT;
  pen.fillStyle = IRON.front;
  pen.fillRect(size * 0.04, size - front * 1.3, size * 0.92, front * 1.2);
  pen.fillStyle = IRON.dark;
  pen.beginPath();
  pen.roundRect(size * 0.04, size * 0.02, size * 0.92, size * 0.84, size * 0.14);
  pen.fill();
  pen.strokeStyle = "rgb(255 255 255 / 20%)";
  pen.lineWidth = Math.max(1, size * 0.03);
  pen.stroke();
  for (const [x, y] of [[0.16, 0.14], [0.84, 0.14], [0.16, 0.74], [0.84, 0.74]] as const) {
    pen.fillStyle = IRON.light;
    disc(pen, size * x, size * y, size * 0.045);
  }
  pen.save();
  pen.translate(size / 2, size * 0.43);
  pen.fillStyle = IRON.top;
  disc(pen, 0, 0, size * 0.33);
  pen.strokeStyle = mark;
  pen.lineWidth = Math.max(2, size * 0.06);
  pen.beginPath();
  pen.arc(0, 0, size * 0.33, 0, Math.PI * 2);
  pen.stroke();
  pen.rotate(aimAngle);
  pen.fillStyle = IRON.front;
  pen.fillRect(0, -size * 0.085, size * 0.56, size * 0.17);
  pen.fillStyle = IRON.light;
  pen.fillRect(size * 0.04, -size * 0.085, size * 0.5, size * 0.06);
  pen.fillStyle = "#1d2329";
  pen.fillRect(size * 0.5, -size * 0.11, size * 0.1, size * 0.22);
  pen.fillStyle = IRON.light;
  disc(pen, 0, 0, size * 0.19);
  pen.fillStyle = mark;
  disc(pen, 0, 0, size * 0.08);
  pen.restore();
  if (health < 1) cracks(pen, size, health, column, row);
}

function disc(pen: Pen, x: number, y: number, radius: number): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, Math.PI * 2);
  pen.fill();
}
