// World as this player sees it.

import type { Entity, Fields, Welcome } from "../core.ts";
import type { Surroundings } from "../rules.ts";
import { Clock } from "./clock.ts";
import type { Snapshot } from "./protocol.ts";
import { type Motions, Track } from "./track.ts";

/** Maximum number of entities. The client leaves a server that sends more, because they cost memory. */
export const ENTITIES_MAX = 16_384;

/** Snapshots between two updates of a distant entity. */
const SNAPSHOTS_PER_UPDATE_MAX = 2;

/** Entities that a snapshot brought into view or removed. */
export interface VisibilityChanges {
  readonly entered: number[];
  readonly left: number[];
}

export class World implements Surroundings {
  /** The newest tick whose state has arrived. */
  tick = 0;
  readonly clock: Clock;
  private readonly motions: Readonly<Record<string, Motions>>;
  private readonly ticksBetween: number;
  private readonly channels = new Map<string, Map<number, Track>>();
  private readonly inView = new Set<number>();
  private readonly versions = new Map<string, number>();
  private removals = 0;

  constructor(welcome: Welcome, motions: Readonly<Record<string, Motions>>) {
    this.motions = motions;
    this.clock = new Clock(welcome.tickHz, welcome.snapshotHz);
    this.ticksBetween = (SNAPSHOTS_PER_UPDATE_MAX * welcome.tickHz) / Math.max(1, welcome.snapshotHz);
  }

  /** Applies a snapshot. Returns undefined if a newer one was applied before. */
  apply(snapshot: Snapshot, nowMs: number): VisibilityChanges | undefined {
    const { tick, features } = snapshot;
    if (tick < this.tick) return undefined;
    this.tick = tick;
    this.clock.arrived(tick, nowMs);
    const entered: number[] = [];
    const named = new Set<number>();
    for (const [channel, entities] of Object.entries(features)) {
      for (const { id, ...fields } of entities) {
        named.add(id);
        if (!this.inView.has(id)) {
          this.inView.add(id);
          entered.push(id);
        }
        this.update(channel, id, fields);
      }
    }
    const removed = snapshot.mode === "full" ? [...this.inView].filter((id) => !named.has(id)) : [];
    const left = [...removed, ...(snapshot.removed ?? [])].filter((id) => this.inView.delete(id));
    for (const id of left) this.remove(id);
    this.prune(this.clock.shownTick(nowMs));
    return { entered, left };
  }

  get size(): number {
    return this.inView.size;
  }

  /** Removes every entity. Returns those that were in view. */
  forget(): number[] {
    const left = [...this.inView];
    this.removals += 1;
    this.channels.clear();
    this.inView.clear();
    return left;
  }

  /** Newest state of a channel's entities. */
  *entities<Values = Fields>(channel: string): Iterable<Entity<Values>> {
    for (const [id, track] of this.channels.get(channel) ?? []) {
      if (track.goneTick === undefined) yield { id, fields: track.newest as Values };
    }
  }

  /** Number that changes whenever an entity of the channel enters or changes, or any entity leaves. */
  version(channel: string): number {
    return (this.versions.get(channel) ?? 0) + this.removals;
  }

  *shown(channel: string, nowMs: number): Iterable<Entity> {
    for (const id of this.channels.get(channel)?.keys() ?? []) {
      const entity = this.entity(channel, id, nowMs);
      if (entity !== undefined) yield entity;
    }
  }

  entity(channel: string, id: number, nowMs: number): Entity | undefined {
    const track = this.channels.get(channel)?.get(id);
    if (track === undefined) return undefined;
    const motions = this.motions[channel];
    // Entities that are not interpolated are shown in their newest state.
    if (motions === undefined) return track.goneTick === undefined ? { id, fields: track.newest } : undefined;
    const tick = this.clock.shownTick(nowMs);
    if (track.goneTick !== undefined && track.goneTick <= tick) return undefined;
    return { id, fields: track.at(tick, motions) };
  }

  private update(channel: string, id: number, fields: Record<string, unknown>): void {
    const tracks = this.channels.get(channel) ?? new Map<number, Track>();
    this.channels.set(channel, tracks);
    this.versions.set(channel, (this.versions.get(channel) ?? 0) + 1);
    const known = tracks.get(id);
    if (known === undefined || known.goneTick !== undefined) tracks.set(id, new Track(this.tick, fields));
    else known.push(this.tick, fields, this.ticksBetween, this.motions[channel] !== undefined);
  }

  private remove(id: number): void {
    this.removals += 1;
    for (const tracks of this.channels.values()) {
      const track = tracks.get(id);
      if (track !== undefined) track.goneTick ??= this.tick;
    }
  }

  /** Drops entities that left before the shown tick. */
  private prune(shownTick: number): void {
    for (const tracks of this.channels.values()) {
      for (const [id, { goneTick }] of tracks) if (goneTick !== undefined && goneTick <= shownTick) tracks.delete(id);
    }
  }
}
