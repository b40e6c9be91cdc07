// What part of the world the canvas shows: the own ship stays in its middle.

import { type Measure, shortestWay } from "./world.ts";

/** The camera closes most of a gap to its ship in this time. */
const FOLLOW_SECONDS = 0.09;

/** A ship that is this far away was put somewhere else, and the camera goes with it. */
const JUMP_UNITS = 150;

/** How much wider than the player's sight the view is. */
const MARGIN = 1.08;

export class Camera {
  x = 0;
  y = 0;
  /** Pixels of the page for one unit. */
  scale = 1;
  private width = 1;
  private height = 1;

  /** Fits the player's sight into the canvas. */
  fit(width: number, height: number, sightRadius: number): void {
    this.width = width;
    this.height = height;
    const radius = sightRadius > 0 ? sightRadius : 200;
    this.scale = Math.min(width, height) / (2 * radius * MARGIN);
  }

  /** Follows a place, smoothly unless the player does not want motion. */
  follow(x: number, y: number, seconds: number, measure: Measure, rigid: boolean): void {
    const wayX = shortestWay(this.x, x, measure.width);
    const wayY = shortestWay(this.y, y, measure.height);
    const share = rigid || Math.hypot(wayX, wayY) > JUMP_UNITS ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    // Beyond the edge the camera comes in at the other side, as its ship did.
    this.x = x - wayX * (1 - share);
    this.y = y - wayY * (1 - share);
  }

  /** The pixel of a place. The world's y points up, the canvas's down. */
  toScreen(x: number, y: number): { readonly x: number; readonly y: number } {
    return { x: this.width / 2 + (x - this.x) * this.scale, y: this.height / 2 - (y - this.y) * this.scale };
  }

  /** The place of a pixel. */
  toWorld(x: number, y: number): { readonly x: number; readonly y: number } {
    return { x: this.x + (x - this.width / 2) / this.scale, y: this.y - (y - this.height / 2) / this.scale };
  }

  /** The world's part that can be seen. */
  get bounds(): { readonly left: number; readonly right: number; readonly bottom: number; readonly top: number } {
    const halfWidth = this.width / 2 / this.scale;
    const halfHeight = this.height / 2 / this.scale;
    return { left: this.x - halfWidth, right: this.x + halfWidth, bottom: this.y - halfHeight, top: this.y + halfHeight };
  }
}
