// An entity's values at the last ticks, and what they are in between.

import type { Fields } from "../core.ts";

/** How a field moves between two states: straight, or by the shorter turn, in radians. Others hold until the next state. */
export type Motion = "linear" | "angle";

/** How the fields of a channel move. */
export type Motions = Readonly<Record<string, Motion>>;

interface Sample {
  readonly tick: number;
  readonly fields: Fields;
}

/** More than the delay can ever look back, at 60 snapshots a second. */
const SAMPLES_MAX = 24;

/** What goes farther than this between two states has not moved but been put there. */
const TELEPORT_DISTANCE = 64;

export class Track {
  /** The tick at which it was gone. */
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
    // What is not sent has not changed: after a rest, the movement began shortly before this state.
    if (tick - last.tick > ticksBetween) this.samples.push({ tick: tick - ticksBetween, fields: last.fields });
    this.samples.push({ tick, fields });
    while (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }

  /** The values at a tick between the states; before the first and after the last they hold. */
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
    const way = motion === "angle" ? turn(from, to) : to - from;
    return Math.abs(way) > TELEPORT_DISTANCE ? from : from + way * share;
  }
  if (!isNumbers(from) || !isNumbers(to) || from.length !== to.length) return from;
  const way = from.map((value, axis) => (to[axis] as number) - value);
  return Math.hypot(...way) > TELEPORT_DISTANCE ? from : from.map((value, axis) => value + (way[axis] as number) * share);
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((part) => typeof part === "number");
}

/** The shorter turn from one angle to another. */
function turn(from: number, to: number): number {
  const way = (to - from) % (2 * Math.PI);
  if (way > Math.PI) return way - 2 * Math.PI;
  return way < -Math.PI ? way + 2 * Math.PI : way;
}
