// Camera: keeps the own player near the center.

/** Time constant of following the player. */
const FOLLOW_SECONDS = 0.07;

/** Beyond this distance the player was moved elsewhere, and the camera jumps. */
const JUMP_UNITS = 30;

/** Units along the shorter side of the screen, and the range of pixels per unit. */
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
  /** CSS pixels per unit. */
  scale = 12;
  private width = 1;
  private height = 1;

  fit(width: number, height: number): void {
    this.width = width;
    this.height = height;
    const wanted = Math.min(width, height) / SHORT_SIDE_UNITS;
    this.scale = Math.min(PIXELS_PER_UNIT_MAX, Math.max(PIXELS_PER_UNIT_MIN, wanted));
  }

  /** Follows a position; without smoothing if `isRigid`. */
  follow(position: Point, seconds: number, isRigid: boolean): void {
    const [wayX, wayY] = [position.x - this.x, position.y - this.y];
    const share = isRigid || Math.hypot(wayX, wayY) > JUMP_UNITS ? 1 : 1 - Math.exp(-seconds / FOLLOW_SECONDS);
    this.x += wayX * share;
    this.y += wayY * share;
  }

  /** Converts a position to a pixel. The world's y axis points up, the canvas's down. */
  toScreen(x: number, y: number): Point {
    return { x: this.width / 2 + (x - this.x) * this.scale, y: this.height / 2 - (y - this.y) * this.scale };
  }

  /** Converts a pixel to a position. */
  toWorld(x: number, y: number): Point {
    return { x: this.x + (x - this.width / 2) / this.scale, y: this.y - (y - this.height / 2) / this.scale };
  }

  /** Visible part of the world. */
  get bounds(): Bounds {
    const halfWidth = this.width / 2 / this.scale;
    const halfHeight = this.height / 2 / this.scale;
    return { left: this.x - halfWidth, right: this.x + halfWidth, bottom: this.y - halfHeight, top: this.y + halfHeight };
  }
}
