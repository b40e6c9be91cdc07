// Camera: follows the own needle, and fits the view to the screen.

import { HEIGHT, WIDTH } from "./rules.ts";

/** Cells across the shorter side of the screen. */
const CELLS_SHORT = 25;

/** Largest and smallest size of a cell, in pixels. */
const SCALE_MAX = 44;
const SCALE_MIN = 15;

/** Seconds in which the camera covers most of a distance. */
const FOLLOW_SECONDS = 0.16;

/** Margin of the table that is shown around the cloth, in cells. */
const MARGIN = 2.5;

/** Distance after which the camera jumps, in cells: the needle is a new one. */
const JUMP_CELLS = 30;

export class Camera {
  x = 48;
  y = 32;
  scale = 24;
  private width = 1;
  private height = 1;

  fit(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, Math.min(width, height) / CELLS_SHORT));
  }

  follow(x: number, y: number, seconds: number, isStill: boolean): void {
    const [toX, toY] = [within(x, this.width / this.scale, WIDTH), within(y, this.height / this.scale, HEIGHT)];
    const isFar = Math.hypot(toX - this.x, toY - this.y) > JUMP_CELLS;
    const share = isStill || isFar ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    this.x += (toX - this.x) * share;
    this.y += (toY - this.y) * share;
  }

  /** Column of the screen for a coordinate of the cloth. */
  across(x: number): number {
    return this.width / 2 + (x - this.x) * this.scale;
  }

  /** Row of the screen for a coordinate of the cloth. */
  down(y: number): number {
    return this.height / 2 + (y - this.y) * this.scale;
  }
}

/** Returns the middle of a view so that it shows the cloth and a small margin; that of the cloth if all of it fits. */
function within(middle: number, shown: number, size: number): number {
  const [min, max] = [shown / 2 - MARGIN, size - shown / 2 + MARGIN];
  return min > max ? size / 2 : Math.min(Math.max(middle, min), max);
}
