// Camera: follows the own needle, and fits the view to the screen.

/** Cells across the shorter side of the screen. */
const CELLS_SHORT = 25;

/** Largest and smallest size of a cell, in pixels. */
const SCALE_MAX = 44;
const SCALE_MIN = 15;

/** Seconds in which the camera covers most of a distance. */
const FOLLOW_SECONDS = 0.16;

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
    const isFar = Math.hypot(x - this.x, y - this.y) > JUMP_CELLS;
    const share = isStill || isFar ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    this.x += (x - this.x) * share;
    this.y += (y - this.y) * share;
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
