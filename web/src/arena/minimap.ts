// Minimap of the whole world.

import type { Canvas } from "../shared/canvas.ts";
import type { Camera } from "./camera.ts";
import { type Scheme, coloursOf } from "./colours.ts";
import type { Dish } from "./dish.ts";
import { EDGE } from "./rules.ts";

/** Margin in pixels. */
const MARGIN = 6;

export class Minimap {
  private readonly canvas: Canvas;

  constructor(canvas: Canvas) {
    this.canvas = canvas;
  }

  draw(dish: Dish, camera: Camera, own: number | undefined, scheme: Scheme): void {
    this.canvas.begin();
    const { context, width, height } = this.canvas;
    const scale = (Math.min(width, height) - 2 * MARGIN) / (2 * EDGE);
    const across = (x: number): number => width / 2 + x * scale;
    const down = (y: number): number => height / 2 - y * scale;
    context.strokeStyle = scheme.gridCoarse;
    context.lineWidth = 1;
    context.beginPath();
    for (const line of [-EDGE / 2, 0, EDGE / 2]) {
      context.moveTo(across(line), down(-EDGE));
      context.lineTo(across(line), down(EDGE));
      context.moveTo(across(-EDGE), down(line));
      context.lineTo(across(EDGE), down(line));
    }
    context.stroke();
    const [halfWidth, halfHeight] = [camera.width / 2 / camera.scale, camera.height / 2 / camera.scale];
    context.strokeStyle = scheme.faint;
    context.strokeRect(across(camera.x - halfWidth), down(camera.y + halfHeight), 2 * halfWidth * scale, 2 * halfHeight * scale);
    for (const blob of dish.blobs.values()) {
      const isOwn = blob.eater === own;
      context.fillStyle = isOwn && scheme.isDark ? "#ffffff" : coloursOf(blob.hue, scheme.isDark).body;
      context.beginPath();
      context.arc(across(blob.x), down(blob.y), Math.max(isOwn ? 3 : 1.6, blob.radius * scale), 0, 2 * Math.PI);
      context.fill();
    }
  }
}
