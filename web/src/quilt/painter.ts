// Draws the quilt.

import type { Canvas } from "../shared/canvas.ts";
import type { Camera } from "./camera.ts";
import type { ClothPicture } from "./cloth_picture.ts";
import type { Effects } from "./effects.ts";
import { type Scheme, fabricOf } from "./fabrics.ts";
import type { Needle, Quilt } from "./quilt.ts";
import { HEIGHT, type Pair, WIDTH } from "./rules.ts";

/** Length of a needle, in cells. */
const NEEDLE_LENGTH = 1.9;

/** A thread ends at the needle as it is drawn, which may be behind its newest points by this distance, in cells. */
const AHEAD_CELLS = 3;

export interface Scene {
  readonly quilt: Quilt;
  readonly effects: Effects;
  readonly scheme: Scheme;
  readonly ownSeat: number | undefined;
}

export class Painter {
  private readonly canvas: Canvas;
  private readonly camera: Camera;
  private readonly picture: ClothPicture;

  constructor(canvas: Canvas, camera: Camera, picture: ClothPicture) {
    this.canvas = canvas;
    this.camera = camera;
    this.picture = picture;
  }

  draw(scene: Scene): void {
    const { canvas, camera } = this;
    const pen = canvas.context;
    canvas.begin();
    pen.fillStyle = scene.scheme.table;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.save();
    pen.translate(canvas.width / 2, canvas.height / 2);
    pen.scale(camera.scale, camera.scale);
    pen.translate(-camera.x, -camera.y);
    this.drawCloth(pen, scene);
    this.drawFlashes(pen, scene);
    for (const needle of scene.quilt.needles) this.drawThread(pen, scene, needle);
    this.drawBits(pen, scene);
    for (const needle of scene.quilt.needles) drawNeedle(pen, scene.scheme, needle);
    pen.restore();
    for (const needle of scene.quilt.needles) this.drawName(pen, scene, needle);
  }

  private drawCloth(pen: CanvasRenderingContext2D, { scheme }: Scene): void {
    pen.save();
    pen.shadowColor = scheme.shade;
    pen.shadowBlur = 30;
    pen.shadowOffsetY = 8;
    pen.fillStyle = scheme.linen;
    pen.fillRect(0, 0, WIDTH, HEIGHT);
    pen.restore();
    pen.imageSmoothingEnabled = true;
    pen.drawImage(this.picture.image, 0, 0, WIDTH, HEIGHT);
    // A hem around the cloth.
    pen.strokeStyle = scheme.isDark ? "rgb(255 255 255 / 22%)" : "rgb(120 90 40 / 45%)";
    pen.lineWidth = 0.09;
    pen.setLineDash([0.5, 0.35]);
    pen.strokeRect(0.22, 0.22, WIDTH - 0.44, HEIGHT - 0.44);
    pen.setLineDash([]);
  }

  private drawFlashes(pen: CanvasRenderingContext2D, { effects }: Scene): void {
    for (const { x, y, left } of effects.flashes) {
      pen.fillStyle = `rgb(255 255 255 / ${Math.round(left * left * 75)}%)`;
      pen.fillRect(x, y, 1, 1);
    }
  }

  private drawBits(pen: CanvasRenderingContext2D, { effects, scheme }: Scene): void {
    pen.lineWidth = 0.14;
    pen.lineCap = "round";
    for (const { x, y, angle, seat, left } of effects.bits) {
      pen.globalAlpha = Math.max(0, left);
      pen.strokeStyle = fabricOf(seat, scheme).thread;
      pen.beginPath();
      pen.moveTo(x - Math.cos(angle) * 0.3, y - Math.sin(angle) * 0.3);
      pen.lineTo(x + Math.cos(angle) * 0.3, y + Math.sin(angle) * 0.3);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  /** Draws a thread as a running stitch, with its end in the eye of the needle. */
  private drawThread(pen: CanvasRenderingContext2D, { quilt, scheme }: Scene, needle: Needle): void {
    const points = shownPoints(quilt.threads.get(needle.id) ?? [], needle);
    if (points.length < 2) return;
    const fabric = fabricOf(needle.seat, scheme);
    pen.lineCap = "round";
    pen.lineJoin = "round";
    pen.setLineDash([]);
    trace(pen, points);
    pen.strokeStyle = scheme.shade;
    pen.lineWidth = 0.42;
    pen.stroke();
    pen.strokeStyle = fabric.base;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 0.34;
    pen.stroke();
    pen.globalAlpha = 1;
    pen.strokeStyle = fabric.thread;
    pen.lineWidth = 0.2;
    pen.setLineDash([0.62, 0.42]);
    pen.stroke();
    pen.setLineDash([]);
  }

  private drawName(pen: CanvasRenderingContext2D, { quilt, scheme }: Scene, needle: Needle): void {
    const seat = quilt.seats.get(needle.seat);
    if (seat === undefined || needle.isOwn) return;
    const [x, y] = [this.camera.across(needle.x), this.camera.down(needle.y) - this.camera.scale * 1.15];
    pen.font = "600 12.5px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = scheme.halo;
    pen.strokeText(seat.name, x, y);
    pen.fillStyle = scheme.text;
    pen.fillText(seat.name, x, y);
  }
}

/** Returns the points of a thread up to the needle as it is drawn. */
function shownPoints(points: readonly Pair[], { x, y, heading }: Needle): readonly Pair[] {
  let count = points.length;
  const [ahead, across] = [Math.cos(heading), Math.sin(heading)];
  const eye: Pair = [x - ahead * NEEDLE_LENGTH * 0.42, y - across * NEEDLE_LENGTH * 0.42];
  while (count > 1) {
    const [pointX, pointY] = points[count - 1] as Pair;
    const [dx, dy] = [pointX - eye[0], pointY - eye[1]];
    if (dx * ahead + dy * across <= 0 || Math.hypot(dx, dy) > AHEAD_CELLS) break;
    count -= 1;
  }
  return count === 0 ? [] : [...points.slice(0, count), eye];
}

/** Adds a smooth line through points to the path. */
function trace(pen: CanvasRenderingContext2D, points: readonly Pair[]): void {
  const [first] = points;
  if (first === undefined) return;
  pen.beginPath();
  pen.moveTo(first[0], first[1]);
  for (let at = 1; at < points.length - 1; at += 1) {
    const [[x, y], [nextX, nextY]] = [points[at] as Pair, points[at + 1] as Pair];
    pen.quadraticCurveTo(x, y, (x + nextX) / 2, (y + nextY) / 2);
  }
  const last = points[points.length - 1] as Pair;
  pen.lineTo(last[0], last[1]);
}

function drawNeedle(pen: CanvasRenderingContext2D, scheme: Scheme, { x, y, heading, seat, isOwn }: Needle): void {
  const { base, thread } = fabricOf(seat, scheme);
  pen.save();
  pen.translate(x, y);
  pen.rotate(heading);
  if (isOwn) {
    pen.fillStyle = scheme.isDark ? "rgb(255 255 255 / 13%)" : "rgb(255 255 255 / 55%)";
    pen.beginPath();
    pen.arc(0, 0, 1.25, 0, 2 * Math.PI);
    pen.fill();
  }
  const [tip, eye] = [NEEDLE_LENGTH * 0.6, -NEEDLE_LENGTH * 0.5];
  pen.shadowColor = scheme.shade;
  pen.shadowBlur = 5;
  pen.shadowOffsetY = 2;
  const metal = pen.createLinearGradient(0, -0.24, 0, 0.24);
  metal.addColorStop(0, "#ffffff");
  metal.addColorStop(0.5, "#c9d2df");
  metal.addColorStop(1, "#7d8899");
  pen.fillStyle = metal;
  pen.beginPath();
  pen.moveTo(tip, 0);
  pen.quadraticCurveTo(0.2, 0.24, eye, 0.2);
  pen.arc(eye, 0, 0.2, Math.PI / 2, -Math.PI / 2);
  pen.quadraticCurveTo(0.2, -0.24, tip, 0);
  pen.fill();
  pen.shadowColor = "transparent";
  pen.strokeStyle = "rgb(40 48 62 / 55%)";
  pen.lineWidth = 0.05;
  pen.stroke();
  // A bead in the colour of the seat, and the eye.
  pen.fillStyle = base;
  pen.strokeStyle = thread;
  pen.lineWidth = 0.08;
  pen.beginPath();
  pen.arc(-0.12, 0, 0.34, 0, 2 * Math.PI);
  pen.fill();
  pen.stroke();
  pen.fillStyle = "rgb(30 36 48 / 85%)";
  pen.beginPath();
  pen.ellipse(eye + 0.06, 0, 0.14, 0.075, 0, 0, 2 * Math.PI);
  pen.fill();
  pen.restore();
}
