// Draws the world around the own ship.

import type { Camera } from "./camera.ts";
import type { Canvas } from "../shared/canvas.ts";
import { type Palette, shipColour } from "./palette.ts";
import type { Keys } from "./flight.ts";
import { drawShip, drawShot, drawThing, noise } from "./shapes.ts";
import type { Look, Pose, Ship, World } from "./world.ts";

/** Distance of grid lines in units. */
const GRID_FINE = 25;
const GRID_COARSE = 100;

/** Duration of a hit flash. */
const HIT_SECONDS = 0.5;

/** Length of a ship's wake in frames. */
const WAKE_LENGTH = 34;

/** Parallax factors of the star layers; each layer repeats after a tile. */
const STAR_LAYERS = [0.15, 0.3, 0.5];
const STARS_PER_LAYER = 46;
const STAR_TILE_PIXELS = 900;

/** Minimum scale at which ships are drawn, in pixels per unit. */
const DETAIL_SCALE_MIN = 1.15;

/** Contents of a frame. */
export interface Frame {
  readonly world: World;
  readonly keys: Keys;
  readonly palette: Palette;
  readonly stillness: boolean;
  readonly timeMs: number;
  /** Preview of the next placement. */
  readonly placing: { readonly look: Look; readonly x: number; readonly y: number } | undefined;
}

export class View {
  private readonly canvas: Canvas;
  private readonly camera: Camera;
  private readonly wakes = new Map<number, Pose[]>();

  constructor(canvas: Canvas, camera: Camera) {
    this.canvas = canvas;
    this.camera = camera;
  }

  draw(frame: Frame): void {
    const { context, width, height } = this.canvas;
    this.canvas.begin();
    context.fillStyle = frame.palette.outside;
    context.fillRect(0, 0, width, height);
    this.drawSpace(frame);
    this.drawStars(frame);
    this.drawGrid(frame);
    this.drawSight(frame);
    this.drawEntities(frame);
    this.drawBorder(frame);
    if (frame.placing !== undefined) this.drawPlacing(frame, frame.placing);
  }

  private drawSpace({ world, palette }: Frame): void {
    const { context } = this.canvas;
    const from = this.camera.toScreen(world.shape.min.x, world.shape.max.y);
    const to = this.camera.toScreen(world.shape.max.x, world.shape.min.y);
    context.fillStyle = palette.background;
    context.fillRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }

  private drawStars({ palette, stillness }: Frame): void {
    const { context, width, height } = this.canvas;
    context.fillStyle = palette.star;
    for (const [index, depth] of STAR_LAYERS.entries()) {
      const shift = stillness ? 0 : depth * this.camera.scale;
      context.globalAlpha = palette.dark ? 0.25 + 0.7 * depth : 0.3;
      for (let star = 0; star < STARS_PER_LAYER; star += 1) {
        const seed = index * 1000 + star;
        const x = positive(noise(seed) * STAR_TILE_PIXELS - this.camera.x * shift, STAR_TILE_PIXELS);
        const y = positive(noise(seed + 0.5) * STAR_TILE_PIXELS + this.camera.y * shift, STAR_TILE_PIXELS);
        const size = 0.6 + depth * 1.6 * noise(seed + 0.25);
        for (let left = x; left < width; left += STAR_TILE_PIXELS) {
          for (let top = y; top < height; top += STAR_TILE_PIXELS) context.fillRect(left, top, size, size);
        }
      }
    }
    context.globalAlpha = 1;
  }

  private drawGrid({ world, palette }: Frame): void {
    const { context } = this.canvas;
    const { min, max } = world.shape;
    const seen = this.camera.bounds;
    const left = Math.max(min.x, seen.left);
    const right = Math.min(max.x, seen.right);
    const bottom = Math.max(min.y, seen.bottom);
    const top = Math.min(max.y, seen.top);
    context.lineWidth = 1;
    for (const [spacing, colour] of [[GRID_FINE, palette.gridFine], [GRID_COARSE, palette.gridCoarse]] as const) {
      context.strokeStyle = colour;
      context.beginPath();
      for (let x = Math.ceil(left / spacing) * spacing; x <= right; x += spacing) this.line(x, bottom, x, top);
      for (let y = Math.ceil(bottom / spacing) * spacing; y <= top; y += spacing) this.line(left, y, right, y);
      context.stroke();
    }
  }

  /** Shades everything beyond the view radius, of which the page knows nothing. */
  private drawSight({ world, palette }: Frame): void {
    const { context, width, height } = this.canvas;
    const radius = world.shape.interestRadius * this.camera.scale;
    const own = world.ownShip?.pose;
    if (radius <= 0 || own === undefined) return;
    const middle = this.camera.toScreen(own.x, own.y);
    context.fillStyle = palette.shade;
    context.beginPath();
    context.rect(0, 0, width, height);
    context.arc(middle.x, middle.y, radius, 0, 2 * Math.PI, true);
    context.fill();
    context.strokeStyle = palette.interest;
    context.lineWidth = 1;
    context.setLineDash([3, 7]);
    context.beginPath();
    context.arc(middle.x, middle.y, radius, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  }

  private drawEntities(frame: Frame): void {
    const { world, palette } = frame;
    const time = frame.stillness ? 0 : frame.timeMs / 1000;
    for (const { id, look, pose } of world.things) {
      this.at(pose.x, pose.y, (context) => drawThing(context, look, pose.angle, id, time, palette));
    }
    if (!frame.stillness) this.drawWakes(frame);
    for (const { pose } of world.shots) {
      this.at(pose.x, pose.y, (context) => drawShot(context, pose.velocityX, pose.velocityY, palette));
    }
    for (const ship of world.ships.values()) this.drawOneShip(ship, frame, time);
  }

  private drawOneShip(ship: Ship, frame: Frame, time: number): void {
    const { world, palette } = frame;
    const { pose } = ship;
    const own = ship.id === world.ownEntity;
    const hitSeconds = ship.hitMs === undefined ? HIT_SECONDS : (frame.timeMs - ship.hitMs) / 1000;
    const hit = Math.max(0, 1 - hitSeconds / HIT_SECONDS);
    const look = { colour: ship.colour, hull: ship.hull, thrust: own && frame.keys.thrust, own, hit, time };
    this.at(pose.x, pose.y, (context) => drawShip(context, pose.angle, look, palette));
  }

  /** Draws the recent paths of ships. */
  private drawWakes({ world, palette }: Frame): void {
    const { context } = this.canvas;
    // Round caps would overlap and show as dots.
    context.lineCap = "butt";
    context.lineWidth = Math.max(1, 1.4 * this.camera.scale);
    for (const id of this.wakes.keys()) if (!world.ships.has(id)) this.wakes.delete(id);
    for (const ship of world.ships.values()) {
      const wake = this.wakes.get(ship.id) ?? [];
      this.wakes.set(ship.id, wake);
      wake.push(ship.pose);
      if (wake.length > WAKE_LENGTH) wake.shift();
      for (let index = 1; index < wake.length; index += 1) {
        const [a, b] = [wake[index - 1], wake[index]];
        // A ship that wrapped around or respawned leaves no line across the world.
        if (a === undefined || b === undefined || Math.hypot(a.x - b.x, a.y - b.y) > 60) continue;
        context.strokeStyle = shipColour(ship.colour, palette.dark, (0.3 * index) / wake.length);
        context.beginPath();
        this.line(a.x, a.y, b.x, b.y);
        context.stroke();
      }
    }
  }

  private drawBorder({ world, palette }: Frame): void {
    const { context } = this.canvas;
    const from = this.camera.toScreen(world.shape.min.x, world.shape.max.y);
    const to = this.camera.toScreen(world.shape.max.x, world.shape.min.y);
    context.strokeStyle = palette.border;
    context.lineWidth = 1.5;
    context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }

  private drawPlacing({ palette }: Frame, placing: { look: Look; x: number; y: number }): void {
    this.at(placing.x, placing.y, (context) => {
      context.globalAlpha = 0.6;
      drawThing(context, placing.look, 0, 1, 0, palette);
      context.strokeStyle = palette.interest;
      context.lineWidth = 0.7;
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(0, 0, 12, 0, 2 * Math.PI);
      context.stroke();
    });
  }

  /** Draws around a position, in units and with y pointing up. */
  private at(x: number, y: number, draw: (context: CanvasRenderingContext2D) => void): void {
    const { context } = this.canvas;
    const at = this.camera.toScreen(x, y);
    const scale = Math.max(this.camera.scale, DETAIL_SCALE_MIN);
    context.save();
    context.translate(at.x, at.y);
    context.scale(scale, -scale);
    draw(context);
    context.restore();
  }

  private line(x1: number, y1: number, x2: number, y2: number): void {
    const from = this.camera.toScreen(x1, y1);
    const to = this.camera.toScreen(x2, y2);
    this.canvas.context.moveTo(from.x, from.y);
    this.canvas.context.lineTo(to.x, to.y);
  }
}

/** Returns a remainder that is never negative. */
function positive(value: number, size: number): number {
  return ((value % size) + size) % size;
}
