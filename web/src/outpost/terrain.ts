// Ground: grass and stones, the spawn area, and the edge of the world.

import type { Camera, Point } from "./camera.ts";
import { chanceAt } from "./chance.ts";
import type { Palette } from "./palette.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Size of a ground tile in units. It exceeds the screen's short side, so that the repetition is not noticed. */
const TILE_UNITS = 64;
const TILE_PIXELS_PER_UNIT = 16;
const TILE_PIXELS = TILE_UNITS * TILE_PIXELS_PER_UNIT;

/** Details on one tile. */
const BLOTCHES = 90;
const TUFTS = 150;
const PEBBLES = 46;
const FLOWERS = 34;

/** Paths lead from the spawn area in all directions and fade out. */
const PATHS = 5;
const PATH_UNITS = 130;
const PATH_WIDTH_UNITS = 5;

export class Terrain {
  private readonly measures: Measures;
  private tile: HTMLCanvasElement | undefined;
  private tilePalette: Palette | undefined;

  constructor(measures: Measures) {
    this.measures = measures;
  }

  draw(context: CanvasRenderingContext2D, camera: Camera, palette: Palette, size: { width: number; height: number }): void {
    const { edge } = this.measures;
    context.fillStyle = palette.outside;
    context.fillRect(0, 0, size.width, size.height);
    const [topLeft, bottomRight] = [camera.toScreen(-edge, edge), camera.toScreen(edge, -edge)];
    this.grass(context, camera, palette, topLeft, bottomRight);
    this.paths(context, camera, palette);
    this.landingPlace(context, camera, palette);
    context.strokeStyle = palette.warn;
    context.lineWidth = 3;
    context.setLineDash([camera.scale, camera.scale * 0.7]);
    context.strokeRect(topLeft.x, topLeft.y, bottomRight.x - topLeft.x, bottomRight.y - topLeft.y);
    context.setLineDash([]);
  }

  /** Draws grid lines around a position where the player builds. */
  grid(context: CanvasRenderingContext2D, camera: Camera, palette: Palette, around: Point): void {
    const { cell, reach, edge } = this.measures;
    const middle = camera.toScreen(around.x, around.y);
    const radius = (reach + cell) * camera.scale;
    const fade = context.createRadialGradient(middle.x, middle.y, radius * 0.5, middle.x, middle.y, radius);
    fade.addColorStop(0, palette.grid);
    fade.addColorStop(1, "transparent");
    context.strokeStyle = fade;
    context.lineWidth = 1;
    context.beginPath();
    const first = (middle: number): number => Math.floor((middle - reach - cell + edge) / cell) * cell - edge;
    for (let step = 0; step * cell <= 2 * (reach + 2 * cell); step += 1) {
      const { x, y } = camera.toScreen(first(around.x) + step * cell, first(around.y) + step * cell);
      context.moveTo(Math.round(x) + 0.5, middle.y - radius);
      context.lineTo(Math.round(x) + 0.5, middle.y + radius);
      context.moveTo(middle.x - radius, Math.round(y) + 0.5);
      context.lineTo(middle.x + radius, Math.round(y) + 0.5);
    }
    context.stroke();
    context.setLineDash([4, 6]);
    context.strokeStyle = palette.grid;
    context.beginPath();
    context.arc(middle.x, middle.y, reach * camera.scale, 0, Math.PI * 2);
    context.stroke();
    context.setLineDash([]);
  }

  private grass(context: CanvasRenderingContext2D, camera: Camera, palette: Palette, topLeft: Point, bottomRight: Point): void {
    if (this.tile === undefined || this.tilePalette !== palette) {
      this.tile = tileOf(palette);
      this.tilePalette = palette;
    }
    const pattern = context.createPattern(this.tile, "repeat");
    if (pattern === null) return;
    const share = camera.scale / TILE_PIXELS_PER_UNIT;
    pattern.setTransform(new DOMMatrix([share, 0, 0, share, topLeft.x, topLeft.y]));
    context.fillStyle = pattern;
    context.fillRect(topLeft.x, topLeft.y, bottomRight.x - topLeft.x, bottomRight.y - topLeft.y);
  }

  private paths(context: CanvasRenderingContext2D, camera: Camera, palette: Palette): void {
    const middle = camera.toScreen(0, 0);
    const length = PATH_UNITS * camera.scale;
    const fade = context.createRadialGradient(middle.x, middle.y, 0, middle.x, middle.y, length);
    fade.addColorStop(0, palette.path);
    fade.addColorStop(0.5, `${palette.path}b0`);
    fade.addColorStop(1, `${palette.path}00`);
    context.strokeStyle = fade;
    context.lineCap = "round";
    for (const [share, alpha] of [[1.15, 0.16], [1, 0.18], [0.85, 0.22], [0.6, 0.3]] as const) {
      context.globalAlpha = alpha;
      context.lineWidth = PATH_WIDTH_UNITS * share * camera.scale;
      context.beginPath();
      for (let number = 0; number < PATHS; number += 1) {
        const [angle, bend] = [((number + chanceAt(number, 4) * 0.5) / PATHS) * Math.PI * 2, (chanceAt(number, 5) - 0.5) * 1.6];
        const along = (way: number, turn: number): readonly [number, number] => [
          middle.x + Math.cos(angle + turn) * length * way,
          middle.y + Math.sin(angle + turn) * length * way,
        ];
        context.moveTo(middle.x, middle.y);
        context.bezierCurveTo(...along(0.35, bend * 0.2), ...along(0.6, -bend * 0.6), ...along(1, bend));
      }
      context.stroke();
    }
    context.globalAlpha = 1;
    context.lineCap = "butt";
  }

  /** Draws the spawn area, where nobody can build. */
  private landingPlace(context: CanvasRenderingContext2D, camera: Camera, palette: Palette): void {
    const { x, y } = camera.toScreen(0, 0);
    const radius = this.measures.spawn_area * camera.scale;
    context.fillStyle = palette.pad;
    context.beginPath();
    context.arc(x, y, radius, 0, Math.PI * 2);
    context.fill();
    context.strokeStyle = palette.padLine;
    context.lineWidth = Math.max(1.5, camera.scale * 0.14);
    for (const [share, dash] of [[0.98, 0], [0.72, 1.1], [0.3, 0]] as const) {
      context.setLineDash(dash === 0 ? [] : [dash * camera.scale, dash * camera.scale]);
      context.beginPath();
      context.arc(x, y, radius * share, 0, Math.PI * 2);
      context.stroke();
    }
    context.setLineDash([]);
    context.beginPath();
    for (let quarter = 0; quarter < 4; quarter += 1) {
      const angle = (quarter * Math.PI) / 2;
      context.moveTo(x + Math.cos(angle) * radius * 0.38, y + Math.sin(angle) * radius * 0.38);
      context.lineTo(x + Math.cos(angle) * radius * 0.62, y + Math.sin(angle) * radius * 0.62);
    }
    context.stroke();
  }
}

/** Draws one seamless tile of grass. */
function tileOf(palette: Palette): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [TILE_PIXELS, TILE_PIXELS];
  const context = canvas.getContext("2d");
  if (context === null) return canvas;
  context.fillStyle = palette.ground;
  context.fillRect(0, 0, TILE_PIXELS, TILE_PIXELS);
  const scatter = (count: number, seed: number, draw: (chance: (n: number) => number) => void): void => {
    for (let number = 0; number < count; number += 1) {
      const chance = (n: number): number => chanceAt(number * 16 + n, seed);
      // Details across an edge are repeated on the other side.
      for (let copy = 0; copy < 9; copy += 1) {
        const [across, down] = [(copy % 3) - 1, Math.floor(copy / 3) - 1];
        context.save();
        context.translate((chance(0) + across) * TILE_PIXELS, (chance(1) + down) * TILE_PIXELS);
        draw(chance);
        context.restore();
      }
    }
  };
  scatter(BLOTCHES, 1, (chance) => blotch(context, 30 + chance(2) * 120, chance(3) < 0.5 ? palette.groundLow : palette.groundHigh));
  scatter(TUFTS, 2, (chance) => tuft(context, palette, chance));
  scatter(PEBBLES, 3, (chance) => pebble(context, palette, chance));
  scatter(FLOWERS, 4, (chance) => flower(context, palette, chance));
  return canvas;
}

function flower(context: CanvasRenderingContext2D, palette: Palette, chance: (n: number) => number): void {
  context.fillStyle = palette.flowers[Math.floor(chance(2) * palette.flowers.length)] ?? palette.tuft;
  context.globalAlpha = 0.75;
  for (let petal = 0; petal < 3; petal += 1) {
    context.beginPath();
    context.arc((chance(3 + petal) - 0.5) * 22, (chance(6 + petal) - 0.5) * 18, 1.6 + chance(9) * 0.8, 0, Math.PI * 2);
    context.fill();
  }
}

function blotch(context: CanvasRenderingContext2D, radius: number, colour: string): void {
  const soft = context.createRadialGradient(0, 0, 0, 0, 0, radius);
  soft.addColorStop(0, `${colour}80`);
  soft.addColorStop(1, `${colour}00`);
  context.fillStyle = soft;
  context.fillRect(-radius, -radius, 2 * radius, 2 * radius);
}

function tuft(context: CanvasRenderingContext2D, palette: Palette, chance: (n: number) => number): void {
  context.strokeStyle = palette.tuft;
  context.globalAlpha = 0.3 + chance(2) * 0.5;
  context.lineWidth = 1.5;
  context.lineCap = "round";
  context.beginPath();
  for (let blade = 0; blade < 3; blade += 1) {
    const lean = (blade - 1) * 3 + (chance(3 + blade) - 0.5) * 3;
    context.moveTo((blade - 1) * 1.5, 0);
    context.quadraticCurveTo((blade - 1) * 2, -4, lean, -6 - chance(6 + blade) * 4);
  }
  context.stroke();
}

function pebble(context: CanvasRenderingContext2D, palette: Palette, chance: (n: number) => number): void {
  const size = 2 + chance(2) * 4;
  context.rotate(chance(3) * Math.PI);
  context.fillStyle = palette.shadow;
  context.beginPath();
  context.ellipse(0.8, 1, size, size * 0.72, 0, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = palette.pebble;
  context.beginPath();
  context.ellipse(0, 0, size, size * 0.72, 0, 0, Math.PI * 2);
  context.fill();
}
