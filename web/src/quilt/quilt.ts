// The quilt as the page knows it: cells, needles, threads, seats and the round.

import type { Room } from "@aether-game/client";
import { type ClothFields, HEIGHT, type NeedleFields, PATCH, type Pair, type RoundFields, type SeatFields, type Steer, type ThreadFields, WIDTH } from "./rules.ts";

export interface Needle {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly heading: number;
  readonly seat: number;
  readonly isOwn: boolean;
}

/** A cell that changed its owner. */
export interface CellChange {
  readonly cell: number;
  readonly from: number;
  readonly to: number;
}

const PATCHES_WIDE = WIDTH / PATCH;

const ROUND: RoundFields = { phase: "sewing", seconds: 0, winner: 0, speed: 0, turn: 0 };

export class Quilt {
  /** Seat of each cell, row by row; 0 for bare cloth. */
  readonly cells = new Uint8Array(WIDTH * HEIGHT);
  readonly threads = new Map<number, readonly Pair[]>();
  readonly seats = new Map<number, SeatFields>();
  needles: readonly Needle[] = [];
  round = ROUND;
  /** Number that grows when a cell changes. */
  version = 0;
  private readonly known: Record<"cloth" | "threads" | "seats", number> = { cloth: -1, threads: -1, seats: -1 };

  /** Forgets everything, in a new room. */
  clear(): void {
    this.cells.fill(0);
    this.threads.clear();
    this.seats.clear();
    this.needles = [];
    this.round = ROUND;
    this.version += 1;
    Object.assign(this.known, { cloth: -1, threads: -1, seats: -1 });
  }

  /** Seats by cells, the largest first. */
  get ranking(): readonly SeatFields[] {
    return [...this.seats.values()].sort((a, b) => b.cells - a.cells || a.seat - b.seat);
  }

  /** Updates from the current state of a room. Returns the cells that changed. */
  update(room: Room<Steer>): readonly CellChange[] {
    const world = room.surroundings;
    const own = room.ownEntity;
    this.needles = [...room.entities<NeedleFields>("needles")].map(({ id, fields }) => ({
      id,
      x: fields.position[0],
      y: fields.position[1],
      heading: fields.heading,
      seat: fields.seat,
      isOwn: id === own,
    }));
    if (this.isNew("threads", world.version("threads"))) {
      this.threads.clear();
      for (const { id, fields } of world.entities<ThreadFields>("threads")) this.threads.set(id, fields.points);
    }
    if (this.isNew("seats", world.version("seats"))) {
      this.seats.clear();
      for (const { fields } of world.entities<SeatFields>("seats")) this.seats.set(fields.seat, { ...fields });
    }
    for (const { fields } of world.entities<RoundFields>("round")) this.round = { ...fields };
    return this.isNew("cloth", world.version("cloth")) ? this.readCloth(world.entities<ClothFields>("cloth")) : [];
  }

  private readCloth(patches: Iterable<{ readonly fields: ClothFields }>): readonly CellChange[] {
    const changes: CellChange[] = [];
    for (const { fields } of patches) {
      const left = (fields.patch % PATCHES_WIDE) * PATCH;
      const top = Math.floor(fields.patch / PATCHES_WIDE) * PATCH;
      fields.cells.forEach((to, place) => {
        const cell = (top + Math.floor(place / PATCH)) * WIDTH + left + (place % PATCH);
        const from = this.cells[cell] as number;
        if (from === to) return;
        this.cells[cell] = to;
        changes.push({ cell, from, to });
      });
    }
    if (changes.length > 0) this.version += 1;
    return changes;
  }

  private isNew(channel: "cloth" | "threads" | "seats", version: number): boolean {
    if (this.known[channel] === version) return false;
    this.known[channel] = version;
    return true;
  }
}
