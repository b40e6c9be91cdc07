// Visible world as it is drawn now.

import type { Entity, Room } from "@aether-game/client";
import type { Keys } from "./flight.ts";

export interface Pose {
  readonly x: number;
  readonly y: number;
  /** Radians. */
  readonly angle: number;
  /** Units a second. */
  readonly velocityX: number;
  readonly velocityY: number;
}

export interface Ship {
  readonly id: number;
  pose: Pose;
  hull: number;
  colour: number;
  /** Time of the last hit. */
  hitMs: number | undefined;
}

/** Appearance of an object. */
export type Look = "crate" | "rock" | "beacon";

export interface Thing {
  readonly id: number;
  readonly pose: Pose;
  readonly look: Look;
}

export interface Shot {
  readonly id: number;
  readonly pose: Pose;
}

export interface Scoreboard {
  readonly leader: string;
  readonly hits: number;
  readonly players: number;
}

/** Size of the world, which wraps around. */
export interface Measure {
  readonly width: number;
  readonly height: number;
}

type Pair = readonly [number, number];

interface Moving {
  readonly position: Pair;
  readonly velocity?: Pair;
  readonly heading?: number;
  readonly rotation?: number;
  readonly hull?: number;
  readonly colour?: number;
  readonly look?: string;
}

const EMPTY_SHAPE = { min: { x: -1000, y: -1000 }, max: { x: 1000, y: 1000 }, interestRadius: 200 };

export class World {
  readonly ships = new Map<number, Ship>();
  things: readonly Thing[] = [];
  shots: readonly Shot[] = [];
  shape = EMPTY_SHAPE;
  scoreboard: Scoreboard | undefined;
  ownEntity: number | undefined;

  get measure(): Measure {
    const { min, max } = this.shape;
    return { width: max.x - min.x, height: max.y - min.y };
  }

  get ownShip(): Ship | undefined {
    return this.ownEntity === undefined ? undefined : this.ships.get(this.ownEntity);
  }

  /** Number of entities in view, including the own ship. */
  get entitiesInView(): number {
    return this.ships.size + this.things.length + this.shots.length;
  }

  /** Updates from the room's current state. */
  update(room: Room<Keys> | undefined, nowMs: number): void {
    if (room === undefined) return this.forget();
    this.shape = room.welcome?.world ?? EMPTY_SHAPE;
    this.ownEntity = room.ownEntity;
    this.updateShips(room, nowMs);
    this.things = [...room.entities<Moving>("things")].map(({ id, fields }) => ({ id, pose: poseOf(fields), look: lookOf(fields.look) }));
    this.shots = [...room.entities<Moving>("projectile")].map(({ id, fields }) => ({ id, pose: poseOf(fields) }));
    const [board] = room.entities<Scoreboard>("presence");
    this.scoreboard = board?.fields;
  }

  private updateShips(room: Room<Keys>, nowMs: number): void {
    const seen = new Set<number>();
    for (const entity of room.entities<Moving>("movement")) {
      seen.add(entity.id);
      this.updateShip(entity, nowMs);
    }
    for (const id of this.ships.keys()) if (!seen.has(id)) this.ships.delete(id);
  }

  private updateShip({ id, fields }: Entity<Moving>, nowMs: number): void {
    const { hull = 100, colour = 0 } = fields;
    const pose = poseOf(fields);
    const known = this.ships.get(id);
    if (known === undefined) {
      this.ships.set(id, { id, pose, hull, colour, hitMs: undefined });
      return;
    }
    // A destroyed ship respawns with a full hull, far away.
    if (hull < known.hull) known.hitMs = nowMs;
    Object.assign(known, { pose, hull, colour });
  }

  private forget(): void {
    this.ships.clear();
    this.things = [];
    this.shots = [];
    this.scoreboard = undefined;
    this.ownEntity = undefined;
  }
}

/** Returns the shortest difference of two coordinates in a world that wraps around. */
export function wrappedDifference(from: number, to: number, size: number): number {
  const way = to - from;
  if (size <= 0 || Math.abs(way) <= size / 2) return way;
  return way - Math.sign(way) * size;
}

function poseOf({ position: [x, y], velocity = [0, 0], heading, rotation }: Moving): Pose {
  return { x, y, angle: heading ?? rotation ?? 0, velocityX: velocity[0], velocityY: velocity[1] };
}

function lookOf(name: string | undefined): Look {
  const look = name?.toLowerCase();
  return look === "crate" || look === "beacon" ? look : "rock";
}
