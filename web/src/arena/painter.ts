// Draws a frame, from the ground up.

import type { Canvas } from "../shared/canvas.ts";
import type { Camera } from "./camera.ts";
import type { Scheme } from "./colours.ts";
import type { Blob, Dish } from "./dish.ts";
import type { Effects } from "./effects.ts";
import { type Pen, drawBlob } from "./jelly.ts";
import { EDGE } from "./rules.ts";
import { PELLET_PICTURE, Sprites } from "./sprites.ts";

/** Distance of grid lines in units. */
const GRID_FINE = 50;
const GRID_COARSE = 250;

/** Radius of a pellet in units. */
const PELLET_RADIUS = 3.2;

/** Minimum blob radius in pixels for its name, and for its mass. */
const NAME_PIXELS = 15;
const MASS_PIXELS = 34;

/** Maximum width of a name, in radii of its blob. */
const NAME_WIDTH = 2.3;

/** Start of the fog, as a share of the view radius. */
const FOG_BEGIN = 0.82;

/** Contents of a frame. */
export interface Frame {
  readonly dish: Dish;
  readonly effects: Effects;
  readonly scheme: Scheme;
  readonly seconds: number;
  /** Time in seconds for animations. */
  readonly time: number;
  /** Circle that the server sends entities of. */
  readonly viewed: { readonly x: number; readonly y: number; readonly radius: number } | undefined;
  /** Heaviest eater of the room, drawn with a crown. */
  readonly leader: number | undefined;
}

export class Painter {
  private readonly canvas: Canvas;
  private readonly camera: Camera;
  private readonly sprites = new Sprites();

  constructor(canvas: Canvas, camera: Camera) {
    this.canvas = canvas;
    this.camera = camera;
  }

  draw(frame: Frame): void {
    this.canvas.begin();
    const { context } = this.canvas;
    const { scheme, effects, time } = frame;
    this.ground(scheme);
    this.pellets(frame);
    effects.draw(context, this.camera, scheme, this.sprites, false);
    const pen: Pen = { context, camera: this.camera, scheme, sprites: this.sprites, time };
    const seen = [...frame.dish.blobs.values()].filter((blob) => this.camera.sees(blob.x, blob.y, blob.radius * 1.3));
    // Heavier blobs are drawn above lighter ones.
    seen.sort((a, b) => a.radius - b.radius);
    for (const blob of seen) drawBlob(pen, blob);
    effects.draw(context, this.camera, scheme, this.sprites, true);
    const crowned = frame.leader === undefined ? undefined : seen.findLast((blob) => blob.eater === frame.leader);
    for (const blob of seen) this.label(blob, scheme);
    if (crowned !== undefined) this.crown(crowned);
    this.fog(frame);
  }

  private ground(scheme: Scheme): void {
    const { context, width, height } = this.canvas;
    const { camera } = this;
    context.fillStyle = scheme.outside;
    context.fillRect(0, 0, width, height);
    const [left, right, top, bottom] = [camera.across(-EDGE), camera.across(EDGE), camera.down(EDGE), camera.down(-EDGE)];
    context.fillStyle = scheme.ground;
    context.fillRect(left, top, right - left, bottom - top);
    context.lineWidth = 1;
    for (const [spacing, colour] of [[GRID_FINE, scheme.gridFine], [GRID_COARSE, scheme.gridCoarse]] as const) {
      context.strokeStyle = colour;
      context.beginPath();
      for (let line = -EDGE; line <= EDGE; line += spacing) {
        const [x, y] = [camera.across(line), camera.down(line)];
        if (x >= 0 && x <= width) {
          context.moveTo(x, Math.max(0, top));
          context.lineTo(x, Math.min(height, bottom));
        }
        if (y >= 0 && y <= height) {
          context.moveTo(Math.max(0, left), y);
          context.lineTo(Math.min(width, right), y);
        }
      }
      context.stroke();
    }
    context.strokeStyle = scheme.edge;
    context.lineWidth = 3;
    context.strokeRect(left, top, right - left, bottom - top);
  }

  private pellets({ dish, scheme, time }: Frame): void {
    const { context } = this.canvas;
    const { camera, sprites } = this;
    for (const { id, x, y, hue, rise } of dish.pellets.values()) {
      if (!camera.sees(x, y, PELLET_RADIUS * PELLET_PICTURE)) continue;
      const breath = 1 + 0.12 * Math.sin(2.4 * time + id);
      const half = PELLET_RADIUS * PELLET_PICTURE * camera.scale * rise * breath;
      context.drawImage(sprites.pellet(hue, scheme.isDark), camera.across(x) - half, camera.down(y) - half, half * 2, half * 2);
    }
  }

  private label(blob: Blob, scheme: Scheme): void {
    const radius = blob.radius * this.camera.scale;
    if (radius < NAME_PIXELS) return;
    const size = Math.max(11, Math.min(52, radius * 0.4));
    const hasMass = radius >= MASS_PIXELS;
    const [x, y] = [this.camera.across(blob.x), this.camera.down(blob.y)];
    const widest = radius * NAME_WIDTH;
    this.write(blob.name, x, hasMass ? y - size * 0.28 : y, size, widest, scheme);
    if (hasMass) this.write(String(blob.mass), x, y + size * 0.62, size * 0.58, widest, scheme);
  }

  private write(text: string, x: number, y: number, size: number, widest: number, scheme: Scheme): void {
    if (text === "") return;
    const ratio = Math.min(devicePixelRatio, 2);
    const picture = this.sprites.text(text, size * ratio, scheme.text, scheme.outline);
    const share = Math.min(1, widest / (picture.width / ratio)) / ratio;
    const [width, height] = [picture.width * share, picture.height * share];
    this.canvas.context.drawImage(picture, x - width / 2, y - height / 2, width, height);
  }

  private crown(blob: Blob): void {
    const { context } = this.canvas;
    const radius = blob.radius * this.camera.scale;
    const size = Math.max(9, Math.min(40, radius * 0.42));
    context.save();
    context.translate(this.camera.across(blob.x), this.camera.down(blob.y) - radius - size * 0.35);
    context.scale(size, size);
    context.beginPath();
    context.moveTo(-1, 0.4);
    for (const [x, y] of [[-1.15, -0.7], [-0.5, -0.15], [0, -1], [0.5, -0.15], [1.15, -0.7], [1, 0.4]] as const) context.lineTo(x, y);
    context.closePath();
    context.lineJoin = "round";
    context.lineWidth = 0.14;
    context.strokeStyle = "#8a5a00";
    context.fillStyle = "#ffce4a";
    context.fill();
    context.stroke();
    context.restore();
  }

  /** The server sends nothing beyond the view radius; fog shows that. */
  private fog({ viewed, scheme }: Frame): void {
    if (viewed === undefined) return;
    const { context, width, height } = this.canvas;
    const [x, y] = [this.camera.across(viewed.x), this.camera.down(viewed.y)];
    const radius = viewed.radius * this.camera.scale;
    const corner = Math.max(Math.hypot(x, y), Math.hypot(width - x, y), Math.hypot(x, height - y), Math.hypot(width - x, height - y));
    if (corner < radius * FOG_BEGIN) return;
    const colour = scheme.fog.join(" ");
    const gradient = context.createRadialGradient(x, y, radius * FOG_BEGIN, x, y, radius * 1.04);
    gradient.addColorStop(0, `rgb(${colour} / 0)`);
    gradient.addColorStop(1, `rgb(${colour} / 0.88)`);
    context.fillStyle = gradient;
    context.fillRect(0, 0, width, height);
  }
}
