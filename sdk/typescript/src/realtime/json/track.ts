// Values of an entity at recent ticks, and interpolation between them.

import type { Fields } from "../core.ts";

/**
 * Interpolation of a field between two states: linear, or along the shorter arc in radians. Other fields hold until the
 * next state.
 */
export type Motion = "linear" | "angle";

/** Interpolation of a channel's fields. */
export type Motions = Readonly<Record<string, Motion>>;

interface Sample {
  readonly tick: number;
  readonly fields: Fields;
}

/** More than the delay ever looks back, at 60 snapshots a second. */
const SAMPLES_MAX = 24;

/** A larger distance between two states is a teleport, not a movement. */
const TELEPORT_DISTANCE = 64;

export class Track {
  /** Tick at which the entity left the view. */
  goneTick: number | undefined;
  private readonly samples: Sample[] = [];

  constructor(tick: number, fields: Fields) {
    this.samples.push({ tick, fields });
  }

  get newest(): Fields {
    return (this.samples[this.samples.length - 1] as Sample).fields;
  }

  push(tick: number, changed: Fields, ticksBetween: number, keep: boolean): void {
    const last = this.samples[this.samples.length - 1] as Sample;
    const fields = { ...last.fields, ...changed };
    if (!keep || tick <= last.tick) {
      this.samples[this.samples.length - 1] = { tick: Math.max(tick, last.tick), fields };
      return;
    }
    // Unchanged state is not sent: after a rest, the movement began shortly before this state.
    if (tick - last.tick > ticksBetween) this.samples.push({ tick: tick - ticksBetween, fields: last.fields });
    this.samples.push({ tick, fields });
    while (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }

  /** Returns the values at a tick. Before the first and after the last state they hold. */
  at(tick: number, motions: Motions): Fields {
    let next = this.samples.length;
    while (next > 0 && (this.samples[next - 1] as Sample).tick > tick) next -= 1;
    const before = this.samples[next - 1];
    const after = this.samples[next];
    if (before === undefined || after === undefined) return (before ?? after)?.fields ?? this.newest;
    const share = (tick - before.tick) / (after.tick - before.tick);
    const fields: Fields = { ...before.fields };
    for (const [name, motion] of Object.entries(motions)) {
      fields[name] = between(before.fields[name], after.fields[name], share, motion);
    }
    return fields;
  }
}

function between(from: unknown, to: unknown, share: number, motion: Motion): unknown {
  if (typeof from === "number" && typeof to === "number") {
    const difference = motion === "angle" ? turn(from, to) : to - from;
    return Math.abs(difference) > TELEPORT_DISTANCE ? from : from + difference * share;
  }
  if (!isNumbers(from) || !isNumbers(to) || from.length !== to.length) return from;
  const difference = from.map((value, axis) => (to[axis] as number) - value);
  return Math.hypot(...difference) > TELEPORT_DISTANCE ? from : from.map((value, axis) => value + (difference[axis] as number) * share);
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((part) => typeof part === "number");
}

/** Returns the shorter turn from one angle to another. */
function turn(from: number, to: number): number {
  const difference = (to - from) % (2 * Math.PI);
  if (difference > Math.PI) return difference - 2 * Math.PI;
  return difference < -Math.PI ? difference + 2 * Math.PI : difference;
}
