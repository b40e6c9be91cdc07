// Minimap of the whole world, including structures seen before.

import type { Canvas } from "../shared/canvas.ts";
import type { Camera } from "./camera.ts";
import { characterOf } from "./characters.ts";
import type { KindName } from "./channels.ts";
import type { Palette } from "./palette.ts";
import type { Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Structures within this distance are surely in view. Slightly less than the server's view radius. */
const SURE_UNITS = 60;

const COLOURS: Readonly<Record<KindName, string>> = { Wall: "#aab4bb", Door: "#cd9c63", Fence: "#a2794a", Turret: "#ff9d6b" };

interface Remembered {
  readonly x: number;
  readonly y: number;
  readonly kind: KindName;
}

export class Minimap {
  private readonly canvas: Canvas;
  private readonly measures: Measures;
  /** By cell, so its size is bounded by the world. */
  private readonly remembered = new Map<number, Remembered>();

  constructor(canvas: Canvas, measures: Measures) {
    this.canvas = canvas;
    this.measures = measures;
  }

  /** Forgets everything, for another room. */
  forget(): void {
    this.remembered.clear();
  }

  draw(scene: Scene, camera: Camera, palette: Palette): void {
    this.remember(scene);
    this.canvas.begin();
    const { context: pen, width } = this.canvas;
    const { edge, cell, spawn_area } = this.measures;
    const scale = width / (2 * edge);
    const at = (x: number, y: number): readonly [number, number] => [(x + edge) * scale, (edge - y) * scale];
    pen.fillStyle = palette.ground;
    pen.fillRect(0, 0, width, width);
    pen.strokeStyle = palette.grid;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const share of [0.25, 0.5, 0.75]) {
      pen.moveTo(width * share, 0);
      pen.lineTo(width * share, width);
      pen.moveTo(0, width * share);
      pen.lineTo(width, width * share);
    }
    pen.stroke();
    pen.fillStyle = palette.pad;
    pen.beginPath();
    pen.arc(width / 2, width / 2, spawn_area * scale, 0, Math.PI * 2);
    pen.fill();
    const side = Math.max(1.5, cell * scale);
    for (const { x, y, kind } of this.remembered.values()) {
      const [left, top] = at(x, y);
      pen.fillStyle = COLOURS[kind];
      pen.fillRect(left - side / 2, top - side / 2, side, side);
    }
    const { left, right, top, bottom } = camera.bounds;
    const [x, y] = at(left, top);
    pen.strokeStyle = palette.own;
    pen.strokeRect(x, y, (right - left) * scale, (top - bottom) * scale);
    for (const person of scene.people) {
      const [personX, personY] = at(person.x, person.y);
      pen.fillStyle = person.isOwn ? palette.own : characterOf(person.appearance).coat;
      pen.strokeStyle = palette.halo;
      pen.beginPath();
      pen.arc(personX, personY, person.isOwn ? 3.5 : 3, 0, Math.PI * 2);
      pen.fill();
      pen.stroke();
    }
  }

  private remember({ own, buildings }: Scene): void {
    if (own === undefined) return;
    for (const [key, { x, y }] of this.remembered) {
      if (Math.hypot(x - own.x, y - own.y) < SURE_UNITS) this.remembered.delete(key);
    }
    for (const { column, row, x, y, kind } of buildings) this.remembered.set(row * 256 + column, { x, y, kind });
  }
}
