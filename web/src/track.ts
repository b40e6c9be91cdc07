// Where one entity was at the last ticks, and where it is in between.

/** Where an entity is at a tick. */
export interface Sample {
  readonly tick: number;
  readonly x: number;
  readonly y: number;
  /** Radians. */
  readonly angle: number;
  /** Units a second. */
  readonly velocityX: number;
  readonly velocityY: number;
}

/** What lies between ticks, and how wide the world is before it comes round again. */
export interface Measure {
  readonly secondsPerTick: number;
  readonly width: number;
  readonly height: number;
  /** Entities far away may be sent with every second snapshot only. */
  readonly ticksPerUpdateMax: number;
}

/** More than interpolation at 20 snapshots a second can ever look back. */
const SAMPLES_MAX = 24;

/** Beyond this between two samples nothing flew: it was put there. */
const JUMP_UNITS = 100;

/** How long an entity flies on by its velocity when nothing new comes. */
const AHEAD_SECONDS_MAX = 0.2;

export class Track {
  /** The tick at which it came into view; it is not shown earlier. */
  readonly beginTick: number;
  private readonly samples: Sample[] = [];

  constructor(first: Sample) {
    this.beginTick = first.tick;
    this.samples.push(first);
  }

  get newest(): Sample {
    return this.samples[this.samples.length - 1] as Sample;
  }

  push(sample: Sample, measure: Measure): void {
    const last = this.newest;
    if (sample.tick < last.tick) return;
    if (sample.tick === last.tick) {
      this.samples[this.samples.length - 1] = sample;
      return;
    }
    // What is not sent has not changed: after a rest, the movement began shortly before this sample.
    const rested = sample.tick - last.tick > measure.ticksPerUpdateMax;
    if (rested) this.samples.push({ ...last, tick: sample.tick - measure.ticksPerUpdateMax });
    this.samples.push(sample);
    while (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }

  /** Where it is at a tick between the samples, or soon after them. */
  at(tick: number, measure: Measure): Sample {
    const { samples } = this;
    let next = samples.length;
    while (next > 0 && (samples[next - 1] as Sample).tick > tick) next -= 1;
    const after = samples[next];
    const before = samples[next - 1];
    if (before === undefined) return after ?? this.newest;
    if (after === undefined) return ahead(before, tick, measure);
    return between(before, after, tick, measure);
  }
}

/** The shortest way from one coordinate to another in a world that comes round. */
export function shortestWay(from: number, to: number, size: number): number {
  const way = to - from;
  if (size <= 0 || Math.abs(way) <= size / 2) return way;
  return way - Math.sign(way) * size;
}

function between(a: Sample, b: Sample, tick: number, measure: Measure): Sample {
  const wayX = shortestWay(a.x, b.x, measure.width);
  const wayY = shortestWay(a.y, b.y, measure.height);
  if (Math.hypot(wayX, wayY) > JUMP_UNITS) return { ...a, tick };
  const share = (tick - a.tick) / (b.tick - a.tick);
  return {
    tick,
    x: a.x + wayX * share,
    y: a.y + wayY * share,
    angle: a.angle + turn(a.angle, b.angle) * share,
    velocityX: a.velocityX + (b.velocityX - a.velocityX) * share,
    velocityY: a.velocityY + (b.velocityY - a.velocityY) * share,
  };
}

function ahead(last: Sample, tick: number, measure: Measure): Sample {
  const seconds = Math.min((tick - last.tick) * measure.secondsPerTick, AHEAD_SECONDS_MAX);
  return { ...last, tick, x: last.x + last.velocityX * seconds, y: last.y + last.velocityY * seconds };
}

/** The shorter turn from one angle to another. */
function turn(from: number, to: number): number {
  const way = (to - from) % (2 * Math.PI);
  if (way > Math.PI) return way - 2 * Math.PI;
  return way < -Math.PI ? way + 2 * Math.PI : way;
}
