// Camera: follows the center of the player's blobs and zooms out as they grow.

import { radiusOf } from "./rules.ts";

/** Half diagonal of the view in units: without mass, added per unit of radius, and at most. */
const VIEW_LEAST = 290;
const VIEW_PER_RADIUS = 2.3;
const VIEW_MOST = 620;

/** Time constants of the camera, in seconds. */
const FOLLOW_SECONDS = 0.07;
const ZOOM_SECONDS = 0.55;

/** Beyond this distance the camera jumps instead of following. */
const JUMP_UNITS = 500;

export class Camera {
  x = 0;
  y = 0;
  /** CSS pixels per unit. */
  scale = 1;
  width = 1;
  height = 1;
  private view = VIEW_LEAST;
  private hasTarget = false;

  fit(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.scale = Math.hypot(width, height) / 2 / this.view;
  }

  /** Follows a position and a mass; without smoothing if `isRigid`. */
  follow(target: { readonly x: number; readonly y: number; readonly mass: number }, seconds: number, isRigid: boolean): void {
    const [wayX, wayY] = [target.x - this.x, target.y - this.y];
    const view = Math.min(VIEW_MOST, VIEW_LEAST + VIEW_PER_RADIUS * radiusOf(target.mass));
    const jumps = isRigid || !this.hasTarget || Math.hypot(wayX, wayY) > JUMP_UNITS;
    const share = jumps ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    this.x += wayX * share;
    this.y += wayY * share;
    this.view += (view - this.view) * (jumps ? 1 : 1 - Math.exp(-seconds / ZOOM_SECONDS));
    this.hasTarget = true;
  }

  across(x: number): number {
    return this.width / 2 + (x - this.x) * this.scale;
  }

  /** The world's y axis points up, the canvas's down. */
  down(y: number): number {
    return this.height / 2 - (y - this.y) * this.scale;
  }

  /** Returns whether a circle of the world is visible. */
  sees(x: number, y: number, radius: number): boolean {
    const [across, down, size] = [this.across(x), this.down(y), radius * this.scale];
    return across > -size && across < this.width + size && down > -size && down < this.height + size;
  }
}
