// The world as this player may see it.

import { Clock } from "./clock.ts";
import type { Pair, ScoreboardFields, ShipFields, ShotFields, Snapshot, ThingFields, Welcome, WorldShape } from "./protocol.ts";
import { type Measure, type Sample, Track } from "./track.ts";

export interface Ship {
  readonly id: number;
  readonly track: Track;
  hull: number;
  colour: number;
  /** The tick at which it was last hit. */
  hitTick: number | undefined;
  goneTick: number | undefined;
}

/** How a thing is drawn. */
export type Look = "crate" | "rock" | "beacon";

export interface Thing {
  readonly id: number;
  readonly track: Track;
  look: Look;
  goneTick: number | undefined;
}

export interface Shot {
  readonly id: number;
  readonly track: Track;
  goneTick: number | undefined;
}

export interface Scoreboard {
  leader: string;
  hits: number;
  players: number;
}

const EMPTY_SHAPE: WorldShape = { min: { x: -1000, y: -1000 }, max: { x: 1000, y: 1000 }, interestRadius: 200 };

/** Snapshots between two updates of an entity that is far away. */
const SNAPSHOTS_PER_UPDATE_MAX = 2;

export class World {
  readonly ships = new Map<number, Ship>();
  readonly things = new Map<number, Thing>();
  readonly shots = new Map<number, Shot>();
  readonly clock = new Clock();
  shape: WorldShape = EMPTY_SHAPE;
  scoreboard: Scoreboard | undefined;
  ownEntity: number | undefined;
  /** The newest tick whose state has arrived. */
  tick = 0;
  measure: Measure = { secondsPerTick: 0.025, width: 2000, height: 2000, ticksPerUpdateMax: 4 };
  private scoreboardId: number | undefined;

  /** Begins anew in a room. */
  enter(welcome: Welcome): void {
    const { min, max } = welcome.world;
    this.shape = welcome.world;
    this.measure = {
      secondsPerTick: 1 / Math.max(1, welcome.tickHz),
      width: max.x - min.x,
      height: max.y - min.y,
      ticksPerUpdateMax: (SNAPSHOTS_PER_UPDATE_MAX * welcome.tickHz) / Math.max(1, welcome.snapshotHz),
    };
    this.clock.reset(welcome.tickHz, welcome.snapshotHz);
    this.tick = 0;
    this.ownEntity = undefined;
    this.forget();
  }

  /** Forgets every entity. */
  forget(): void {
    this.ships.clear();
    this.things.clear();
    this.shots.clear();
    this.scoreboard = undefined;
    this.scoreboardId = undefined;
  }

  apply(snapshot: Snapshot, now: number): void {
    const { tick, features } = snapshot;
    // An older snapshot was overtaken, and everything in it with it.
    if (tick < this.tick) return;
    this.tick = tick;
    this.clock.arrived(tick, now);
    const seen = new Set<number>();
    for (const fields of features.movement ?? []) this.applyShip(fields, tick, seen);
    for (const fields of features.things ?? []) this.applyThing(fields, tick, seen);
    for (const fields of features.projectile ?? []) this.applyShot(fields, tick, seen);
    for (const fields of features.presence ?? []) this.applyScoreboard(fields, seen);
    if (snapshot.mode === "full") {
      for (const kept of [this.ships, this.things, this.shots]) {
        for (const [id, entity] of kept) if (!seen.has(id)) entity.goneTick ??= tick;
      }
    }
    for (const id of snapshot.removed) this.remove(id, tick);
  }

  /** Drops what has gone by the shown tick. */
  prune(shownTick: number): void {
    for (const kept of [this.ships, this.things, this.shots]) {
      for (const [id, entity] of kept) {
        if (entity.goneTick !== undefined && entity.goneTick <= shownTick) kept.delete(id);
      }
    }
  }

  get ownShip(): Ship | undefined {
    return this.ownEntity === undefined ? undefined : this.ships.get(this.ownEntity);
  }

  /** How many entities are in view, the own ship among them. */
  get entitiesInView(): number {
    let count = 0;
    for (const kept of [this.ships, this.things, this.shots]) {
      for (const entity of kept.values()) if (entity.goneTick === undefined) count += 1;
    }
    return count;
  }

  private applyShip(fields: ShipFields, tick: number, seen: Set<number>): void {
    seen.add(fields.id);
    const known = this.ships.get(fields.id);
    const old = known?.track.newest;
    const sample = sampleOf(tick, fields.position, fields.velocity, fields.heading, old);
    if (sample === undefined) return;
    if (known === undefined || known.goneTick !== undefined) {
      const { hull = 100, colour = 0 } = fields;
      const ship = { id: fields.id, track: new Track(sample), hull, colour, hitTick: undefined, goneTick: undefined };
      this.ships.set(fields.id, ship);
      return;
    }
    known.track.push(sample, this.measure);
    const hull = fields.hull ?? known.hull;
    // A ship that is shot to pieces begins anew with a whole hull, far away.
    if (hull < known.hull) known.hitTick = tick;
    known.hull = hull;
    known.colour = fields.colour ?? known.colour;
  }

  private applyThing(fields: ThingFields, tick: number, seen: Set<number>): void {
    seen.add(fields.id);
    const known = this.things.get(fields.id);
    const sample = sampleOf(tick, fields.position, undefined, fields.rotation, known?.track.newest);
    if (sample === undefined) return;
    if (known === undefined || known.goneTick !== undefined) {
      const look = lookOf(fields.look);
      this.things.set(fields.id, { id: fields.id, track: new Track(sample), look, goneTick: undefined });
      return;
    }
    known.track.push(sample, this.measure);
    if (fields.look !== undefined) known.look = lookOf(fields.look);
  }

  private applyShot(fields: ShotFields, tick: number, seen: Set<number>): void {
    seen.add(fields.id);
    const known = this.shots.get(fields.id);
    const sample = sampleOf(tick, fields.position, fields.velocity, undefined, known?.track.newest);
    if (sample === undefined) return;
    if (known === undefined || known.goneTick !== undefined) {
      this.shots.set(fields.id, { id: fields.id, track: new Track(sample), goneTick: undefined });
      return;
    }
    known.track.push(sample, this.measure);
  }

  private applyScoreboard(fields: ScoreboardFields, seen: Set<number>): void {
    seen.add(fields.id);
    this.scoreboardId = fields.id;
    const old = this.scoreboard;
    this.scoreboard = {
      leader: fields.leader ?? old?.leader ?? "",
      hits: fields.hits ?? old?.hits ?? 0,
      players: fields.players ?? old?.players ?? 0,
    };
  }

  private remove(id: number, tick: number): void {
    const entity = this.ships.get(id) ?? this.things.get(id) ?? this.shots.get(id);
    if (entity !== undefined) entity.goneTick ??= tick;
    if (id === this.scoreboardId) this.scoreboard = undefined;
  }
}

/** The entity's sample at a tick: what is not said is as it was. A first sample needs a place. */
function sampleOf(
  tick: number,
  position: Pair | undefined,
  velocity: Pair | undefined,
  angle: number | undefined,
  old: Sample | undefined,
): Sample | undefined {
  const x = position?.[0] ?? old?.x;
  const y = position?.[1] ?? old?.y;
  if (x === undefined || y === undefined) return undefined;
  return {
    tick,
    x,
    y,
    angle: angle ?? old?.angle ?? 0,
    velocityX: velocity?.[0] ?? old?.velocityX ?? 0,
    velocityY: velocity?.[1] ?? old?.velocityY ?? 0,
  };
}

function lookOf(name: string | undefined): Look {
  const look = name?.toLowerCase();
  return look === "crate" || look === "beacon" ? look : "rock";
}
