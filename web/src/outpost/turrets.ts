// Aim of turrets: at their target, or sweeping while there is none.

import type { Building, Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Time constant of a turn. */
const TURN_SECONDS = 0.14;

/** Amplitude and speed of the sweep. */
const SWEEP_RADIANS = 0.9;
const SWEEP_RADIANS_PER_SECOND = 0.6;

export class Turrets {
  private readonly measures: Measures;
  private aims = new Map<number, number>();

  constructor(measures: Measures) {
    this.measures = measures;
  }

  advance(scene: Scene, seconds: number, timeSeconds: number): void {
    const share = 1 - Math.exp(-seconds / TURN_SECONDS);
    const aims = new Map<number, number>();
    for (const turret of scene.buildings) {
      if (turret.kind !== "Turret") continue;
      const before = this.aims.get(turret.id) ?? 0;
      const wanted = this.wanted(turret, scene, timeSeconds);
      aims.set(turret.id, before + Math.atan2(Math.sin(wanted - before), Math.cos(wanted - before)) * share);
    }
    this.aims = aims;
  }

  /** Returns the aim in radians, in world coordinates. */
  aimOf({ id }: Building): number {
    return this.aims.get(id) ?? 0;
  }

  private wanted({ id, x, y, builder }: Building, { people }: Scene, timeSeconds: number): number {
    let [nearest, aim] = [this.measures.turret_reach, id * 2.4 + Math.sin(timeSeconds * SWEEP_RADIANS_PER_SECOND + id) * SWEEP_RADIANS];
    for (const person of people) {
      const distance = Math.hypot(person.x - x, person.y - y);
      if (person.player === builder || person.isProtected || distance >= nearest) continue;
      nearest = distance;
      aim = Math.atan2(person.y - y, person.x - x);
    }
    return aim;
  }
}
