// Minimap of the whole world.

import type { Camera } from "./camera.ts";
import type { Canvas } from "../shared/canvas.ts";
import { type Palette, shipColour } from "./palette.ts";
import type { World } from "./world.ts";

/** Margin in pixels. */
const MARGIN = 8;

export class Minimap {
  private readonly canvas: Canvas;

  constructor(canvas: Canvas) {
    this.canvas = canvas;
  }

  draw(world: World, camera: Camera, palette: Palette): void {
    this.canvas.begin();
    const { context, width, height } = this.canvas;
    const { min, max, interestRadius } = world.shape;
    const scale = Math.min((width - 2 * MARGIN) / (max.x - min.x), (height - 2 * MARGIN) / (max.y - min.y));
    const across = (x: number): number => width / 2 + (x - (min.x + max.x) / 2) * scale;
    const down = (y: number): number => height / 2 - (y - (min.y + max.y) / 2) * scale;
    context.strokeStyle = palette.gridCoarse;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(across(0), down(min.y));
    context.lineTo(across(0), down(max.y));
    context.moveTo(across(min.x), down(0));
    context.lineTo(across(max.x), down(0));
    context.stroke();
    context.strokeStyle = palette.interest;
    context.strokeRect(across(min.x), down(max.y), (max.x - min.x) * scale, (max.y - min.y) * scale);
    if (world.ownShip !== undefined && interestRadius > 0) {
      context.fillStyle = palette.gridCoarse;
      dot(context, across(camera.x), down(camera.y), interestRadius * scale);
      context.stroke();
    }
    context.fillStyle = palette.faint;
    for (const { pose } of world.things) {
      context.fillRect(across(pose.x) - 0.75, down(pose.y) - 0.75, 1.5, 1.5);
    }
    for (const ship of world.ships.values()) {
      const { pose } = ship;
      const own = ship.id === world.ownEntity;
      context.fillStyle = own ? palette.text : shipColour(ship.colour, palette.dark);
      dot(context, across(pose.x), down(pose.y), own ? 3 : 2.2);
    }
  }
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
