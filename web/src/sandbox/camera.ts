// Camera: keeps the own ship in the center.

import { type Measure, wrappedDifference } from "./world.ts";

/** Time constant of following the ship. */
const FOLLOW_SECONDS = 0.09;

/** Beyond this distance the ship was moved elsewhere, and the camera jumps. */
const JUMP_UNITS = 150;

/** Size of the view relative to the player's view radius. */
const MARGIN = 1.08;

export class Camera {
  x = 0;
  y = 0;
  /** CSS pixels per unit. */
  scale = 1;
  private width = 1;
  private height = 1;

  /** Fits the player's view radius into the canvas. */
  fit(width: number, height: number, viewRadius: number): void {
    this.width = width;
    this.height = height;
    const radius = viewRadius > 0 ? viewRadius : 200;
    this.scale = Math.min(width, height) / (2 * radius * MARGIN);
  }

  /** Follows a position; without smoothing if `rigid`. */
  follow(x: number, y: number, seconds: number, measure: Measure, rigid: boolean): void {
    const wayX = wrappedDifference(this.x, x, measure.width);
    const wayY = wrappedDifference(this.y, y, measure.height);
    const share = rigid || Math.hypot(wayX, wayY) > JUMP_UNITS ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    // Beyond the edge the camera wraps around, like its ship.
    this.x = x - wayX * (1 - share);
    this.y = y - wayY * (1 - share);
  }

  /** Converts a position to a pixel. The world's y axis points up, the canvas's down. */
  toScreen(x: number, y: number): { readonly x: number; readonly y: number } {
    return { x: this.width / 2 + (x - this.x) * this.scale, y: this.height / 2 - (y - this.y) * this.scale };
  }

  /** Converts a pixel to a position. */
  toWorld(x: number, y: number): { readonly x: number; readonly y: number } {
    return { x: this.x + (x - this.width / 2) / this.scale, y: this.y - (y - this.height / 2) / this.scale };
  }

  /** Visible part of the world. */
  get bounds(): { readonly left: number; readonly right: number; readonly bottom: number; readonly top: number } {
    const halfWidth = this.width / 2 / this.scale;
    const halfHeight = this.height / 2 / this.scale;
    return { left: this.x - halfWidth, right: this.x + halfWidth, bottom: this.y - halfHeight, top: this.y + halfHeight };
  }
}
