// Shots: the own ones at once, as the rules fly them, and all others as the room shows them.

import type { Effects } from "./effects.ts";
import { type Ground, Shot } from "./rules.ts";
import type { Flying, Person, Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** How far beside the way of an own shot the room's one may be, and how far off its direction, to be the same. */
const SAME_WAY_UNITS = 1.2;
const SAME_WAY_RADIANS = 0.06;

/** How long an own shot is known: longer than it flies, and than the room takes to show it. */
const FORGOTTEN_SECONDS = 3;

interface Own {
  readonly shot: Shot;
  readonly fromX: number;
  readonly fromY: number;
  readonly aim: number;
  /** The room's entity of the same shot. */
  id: number | undefined;
  isOver: boolean;
  ageSeconds: number;
}

/** A shot on the screen. */
export interface Tracer {
  readonly x: number;
  readonly y: number;
  readonly angle: number;
  readonly isOwn: boolean;
}

export class Shots {
  private readonly measures: Measures;
  private readonly effects: Effects;
  private own: Own[] = [];
  private before = new Map<number, Flying>();
  private reload = 0;
  private stepSeconds = 0;

  constructor(measures: Measures, effects: Effects) {
    this.measures = measures;
    this.effects = effects;
  }

  /** Goes on by a frame; what to draw. Where nothing is predicted, own shots come from the room like all others. */
  advance(scene: Scene, ground: Ground, seconds: number, isPredicted: boolean): Tracer[] {
    const { own } = scene;
    if (own !== undefined && isPredicted && own.reload > this.reload) this.fire(own);
    this.reload = own?.reload ?? 0;
    this.fly(scene, ground, seconds);
    this.match(scene);
    this.end(scene);
    const rest = this.stepSeconds;
    const hidden = new Set(this.own.map(({ id }) => id));
    const others = scene.shots.filter(({ id }) => !hidden.has(id)).map((shot) => tracerOf(shot, own));
    const seen = this.own.filter(({ isOver }) => !isOver);
    return [...seen.map(({ shot, aim }) => ({ x: shot.x + shot.velocity_x * rest, y: shot.y + shot.velocity_y * rest, angle: aim, isOwn: true })), ...others];
  }

  /** Forgets everything, as for another room. */
  forget(): void {
    for (const { shot } of this.own) shot.free();
    this.own = [];
    this.before.clear();
  }

  private fire(own: Person): void {
    const shot = new Shot(own.x, own.y, own.aim);
    this.own.push({ shot, fromX: own.x, fromY: own.y, aim: own.aim, id: undefined, isOver: false, ageSeconds: 0 });
    this.effects.muzzle(own.x, own.y, own.aim);
  }

  private fly(scene: Scene, ground: Ground, seconds: number): void {
    const step = 1 / this.measures.tick_hz;
    for (const own of this.own) own.ageSeconds += seconds;
    for (this.stepSeconds += seconds; this.stepSeconds >= step; this.stepSeconds -= step) {
      for (const own of this.own.filter(({ isOver }) => !isOver)) {
        own.isOver = ground.fly(own.shot, step) || this.hitsSomeone(own, scene);
        if (own.isOver) this.effects.spark(own.shot.x, own.shot.y);
      }
    }
    // One that is over is still known for a while: the room shows it later than the page did.
    for (const { shot, ageSeconds } of this.own) if (ageSeconds >= FORGOTTEN_SECONDS) shot.free();
    this.own = this.own.filter(({ ageSeconds }) => ageSeconds < FORGOTTEN_SECONDS);
  }

  /** The server looks at people where the shooter saw them, so the page may end a shot at whom it shows. */
  private hitsSomeone({ shot }: Own, { people }: Scene): boolean {
    const near = this.measures.radius + 1;
    return people.some(({ isOwn, isProtected, x, y }) => !isOwn && !isProtected && Math.hypot(x - shot.x, y - shot.y) < near);
  }

  /** Finds the room's entities of own shots, which then are not drawn a second time. */
  private match({ shots, own }: Scene): void {
    for (const flying of shots) {
      if (flying.shooter !== own?.player || this.before.has(flying.id)) continue;
      const same = this.own.find((candidate) => candidate.id === undefined && isSameWay(candidate, flying));
      if (same !== undefined) same.id = flying.id;
    }
  }

  /** A shot that is gone ended somewhere. */
  private end({ shots }: Scene): void {
    const now = new Map(shots.map((shot) => [shot.id, shot]));
    for (const [id, shot] of this.before) {
      if (now.has(id)) continue;
      const own = this.own.find((candidate) => candidate.id === id);
      if (own === undefined) this.effects.spark(shot.x, shot.y);
      else own.isOver = true;
    }
    this.before = now;
  }
}

function tracerOf({ x, y, velocity, shooter }: Flying, own: Person | undefined): Tracer {
  return { x, y, angle: Math.atan2(velocity[1], velocity[0]), isOwn: shooter === own?.player };
}

function isSameWay({ aim, fromX, fromY }: Own, { x, y, velocity }: Flying): boolean {
  const turn = Math.atan2(velocity[1], velocity[0]) - aim;
  const offRadians = Math.abs(Math.atan2(Math.sin(turn), Math.cos(turn)));
  const beside = Math.abs((x - fromX) * Math.sin(aim) - (y - fromY) * Math.cos(aim));
  return offRadians < SAME_WAY_RADIANS && beside < SAME_WAY_UNITS;
}
