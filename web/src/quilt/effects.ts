// Short effects: cloth that is sewn on, and threads that are snipped.

import type { CellChange } from "./quilt.ts";
import { WIDTH } from "./rules.ts";

const FLASH_SECONDS = 0.5;
const BIT_SECONDS = 0.9;

/** More at once, as in a new room, is no event of the game. */
const FLASHES_MAX = 1_500;
const BITS_MAX = 400;

export interface Flash {
  readonly x: number;
  readonly y: number;
  /** From 1 at the beginning to 0. */
  left: number;
}

/** Piece of a snipped thread. */
export interface Bit {
  x: number;
  y: number;
  readonly speedX: number;
  readonly speedY: number;
  angle: number;
  readonly turn: number;
  readonly seat: number;
  left: number;
}

export class Effects {
  flashes: Flash[] = [];
  bits: Bit[] = [];
  private readonly isStill: () => boolean;

  constructor(isStill: () => boolean) {
    this.isStill = isStill;
  }

  clear(): void {
    this.flashes = [];
    this.bits = [];
  }

  /** Flashes cells that got an owner. */
  sewn(changes: readonly CellChange[]): void {
    if (this.isStill() || changes.length > FLASHES_MAX) return;
    for (const { cell, to } of changes) if (to !== 0) this.flashes.push({ x: cell % WIDTH, y: Math.floor(cell / WIDTH), left: 1 });
  }

  /** Scatters a thread. */
  snipped(points: readonly (readonly [number, number])[], seat: number): void {
    if (this.isStill()) return;
    for (const [x, y] of points) {
      for (let piece = 0; piece < 2 && this.bits.length < BITS_MAX; piece += 1) {
        const angle = Math.random() * 2 * Math.PI;
        const speed = 1 + Math.random() * 3;
        this.bits.push({ x, y, speedX: Math.cos(angle) * speed, speedY: Math.sin(angle) * speed, angle, turn: (Math.random() - 0.5) * 12, seat, left: 1 });
      }
    }
  }

  advance(seconds: number): void {
    for (const flash of this.flashes) flash.left -= seconds / FLASH_SECONDS;
    for (const bit of this.bits) {
      bit.x += bit.speedX * seconds;
      bit.y += bit.speedY * seconds;
      bit.angle += bit.turn * seconds;
      bit.left -= seconds / BIT_SECONDS;
    }
    this.flashes = this.flashes.filter(({ left }) => left > 0);
    this.bits = this.bits.filter(({ left }) => left > 0);
  }
}
