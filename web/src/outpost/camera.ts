// What part of the world the canvas shows: the own player stays near its middle.

/** The camera closes most of a gap to its player in this time. */
const FOLLOW_SECONDS = 0.07;

/** A player who is this far away was put somewhere else, and the camera goes with it. */
const JUMP_UNITS = 30;

/** How many units the shorter side of the screen shows, and how many pixels a unit has at least and at most. */
const SHORT_SIDE_UNITS = 48;
const PIXELS_PER_UNIT_MIN = 11;
const PIXELS_PER_UNIT_MAX = 22;

export interface Bounds {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly top: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export class Camera {
  x = 0;
  y = 0;
  /** Pixels of the page for one unit. */
  scale = 12;
  private width = 1;
  private height = 1;

  fit(width: number, height: number): void {
    this.width = width;
    this.height = height;
    const wanted = Math.min(width, height) / SHORT_SIDE_UNITS;
    this.scale = Math.min(PIXELS_PER_UNIT_MAX, Math.max(PIXELS_PER_UNIT_MIN, wanted));
  }

  /** Follows a place, smoothly unless the player does not want motion. */
  follow(place: Point, seconds: number, isRigid: boolean): void {
    const [wayX, wayY] = [place.x - this.x, place.y - this.y];
    const share = isRigid || Math.hypot(wayX, wayY) > JUMP_UNITS ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    this.x += wayX * share;
    this.y += wayY * share;
  }

  /** The pixel of a place. The world's y points up, the canvas's down. */
  toScreen(x: number, y: number): Point {
    return { x: this.width / 2 + (x - this.x) * this.scale, y: this.height / 2 - (y - this.y) * this.scale };
  }

  /** The place of a pixel. */
  toWorld(x: number, y: number): Point {
    return { x: this.x + (x - this.width / 2) / this.scale, y: this.y - (y - this.height / 2) / this.scale };
  }

  /** The part of the world that can be seen. */
  get bounds(): Bounds {
    const halfWidth = this.width / 2 / this.scale;
    const halfHeight = this.height / 2 / this.scale;
    return { left: this.x - halfWidth, right: this.x + halfWidth, bottom: this.y - halfHeight, top: this.y + halfHeight };
  }
}
