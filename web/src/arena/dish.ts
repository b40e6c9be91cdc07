// Visible entities as they are drawn: eases towards the room's state, and detects what was eaten.

import type { Entity, Room } from "@aether-game/client";
import { type BlobFields, type BoardFields, EDGE, type LabelFields, type PelletFields, type Row, type Steer, radiusOf } from "./rules.ts";

/** Time constant of a blob's shown size. */
const GROW_SECONDS = 0.12;

/** Time constant of a jolt. */
const JOLT_SECONDS = 0.35;

/** Time for a pellet to appear. */
const RISE_SECONDS = 0.35;

/** A pellet that disappears this near to a blob's rim was eaten by it. */
const EATEN_UNITS = 14;

export interface Blob {
  readonly id: number;
  x: number;
  y: number;
  velocityX: number;
  velocityY: number;
  mass: number;
  /** Radius as shown. */
  radius: number;
  eater: number;
  name: string;
  hue: number;
  /** From 1 after a large meal down to 0. */
  jolt: number;
  seenFrame: number;
}

export interface Pellet {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly hue: number;
  /** From 0 to 1 while it appears. */
  rise: number;
  seenFrame: number;
}

/** Events that effects are shown for. */
export interface DishEvents {
  pelletEaten(pellet: Pellet, by: Blob): void;
  blobEaten(blob: Blob, by: Blob): void;
}

export class Dish {
  readonly blobs = new Map<number, Blob>();
  readonly pellets = new Map<number, Pellet>();
  roomRows: readonly Row[] = [];
  recordRows: readonly Row[] = [];
  eaters = 0;
  private readonly events: DishEvents;
  private frame = 0;

  constructor(events: DishEvents) {
    this.events = events;
  }

  /** Updates from the room's current state. */
  update(room: Room<Steer>, seconds: number): void {
    this.frame += 1;
    const labels = new Map<number, LabelFields>();
    for (const { id, fields } of room.entities<LabelFields>("labels")) labels.set(id, fields);
    for (const entity of room.entities<BlobFields>("movement")) this.seeBlob(entity, labels.get(entity.id), seconds);
    for (const { id, fields } of room.entities<PelletFields>("pellets")) this.seePellet(id, fields, seconds);
    this.removeMissing();
    for (const { fields } of room.entities<BoardFields>("boards")) this.seeBoard(fields);
  }

  /** Removes everything, for another room. */
  clear(): void {
    this.blobs.clear();
    this.pellets.clear();
  }

  /** Returns the blobs of an eater. */
  of(eater: number): Blob[] {
    return [...this.blobs.values()].filter((blob) => blob.eater === eater);
  }

  private seeBlob({ id, fields }: Entity<BlobFields>, label: LabelFields | undefined, seconds: number): void {
    const [x, y] = fields.position;
    const known = this.blobs.get(id);
    if (known === undefined) {
      const radius = radiusOf(fields.mass) * 0.4;
      const { eater = 0, name = "", hue = 0 } = label ?? {};
      const [velocityX, velocityY] = fields.velocity;
      this.blobs.set(id, { id, x, y, velocityX, velocityY, mass: fields.mass, radius, eater, name, hue, jolt: 0, seenFrame: this.frame });
      return;
    }
    known.seenFrame = this.frame;
    known.x = x;
    known.y = y;
    // Velocity is smoothed, so that the stretch lags behind the movement like jelly.
    const share = 1 - Math.exp(-seconds / GROW_SECONDS);
    known.velocityX += (fields.velocity[0] - known.velocityX) * share;
    known.velocityY += (fields.velocity[1] - known.velocityY) * share;
    if (fields.mass > known.mass * 1.05 + 2) known.jolt = 1;
    known.mass = fields.mass;
    known.radius += (radiusOf(fields.mass) - known.radius) * share;
    known.jolt *= Math.exp(-seconds / JOLT_SECONDS);
    if (label !== undefined) {
      known.eater = label.eater;
      known.name = label.name;
      known.hue = label.hue;
    }
  }

  private seePellet(id: number, fields: PelletFields, seconds: number): void {
    const known = this.pellets.get(id);
    if (known !== undefined) {
      known.seenFrame = this.frame;
      known.rise = Math.min(1, known.rise + seconds / RISE_SECONDS);
      return;
    }
    const [x, y] = fields.position;
    this.pellets.set(id, { id, x, y, hue: fields.hue, rise: 0, seenFrame: this.frame });
  }

  /** Removes entities that are gone. They were eaten if an eater is at their position; otherwise they left the view. */
  private removeMissing(): void {
    for (const [id, blob] of this.blobs) {
      if (blob.seenFrame === this.frame) continue;
      this.blobs.delete(id);
      const by = this.nearest(blob.x, blob.y, (other) => other.mass > blob.mass && other.eater !== blob.eater, 0);
      if (by !== undefined) this.events.blobEaten(blob, by);
    }
    for (const [id, pellet] of this.pellets) {
      if (pellet.seenFrame === this.frame) continue;
      this.pellets.delete(id);
      const by = this.nearest(pellet.x, pellet.y, () => true, EATEN_UNITS);
      if (by !== undefined) this.events.pelletEaten(pellet, by);
    }
  }

  private nearest(x: number, y: number, may: (blob: Blob) => boolean, beyond: number): Blob | undefined {
    let found: Blob | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const blob of this.blobs.values()) {
      const distance = Math.hypot(blob.x - x, blob.y - y) - radiusOf(blob.mass) - beyond;
      if (distance > 0 || distance >= least || blob.seenFrame !== this.frame || !may(blob)) continue;
      found = blob;
      least = distance;
    }
    return found;
  }

  private seeBoard(board: BoardFields): void {
    if (board.eaters === undefined) {
      this.recordRows = board.rows ?? [];
      return;
    }
    this.roomRows = board.rows ?? [];
    this.eaters = board.eaters;
  }
}

/** Returns the center of mass of some blobs. */
export function middleOf(blobs: readonly Blob[]): { readonly x: number; readonly y: number; readonly mass: number } | undefined {
  let [x, y, mass] = [0, 0, 0];
  for (const blob of blobs) {
    const weight = Math.max(1, blob.mass);
    x += blob.x * weight;
    y += blob.y * weight;
    mass += weight;
  }
  return mass === 0 ? undefined : { x: clamp(x / mass), y: clamp(y / mass), mass };
}

function clamp(value: number): number {
  return Math.max(-EDGE, Math.min(EDGE, value));
}
