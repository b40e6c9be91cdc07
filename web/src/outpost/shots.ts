// Shots: own ones predicted by the rules, others as the room shows them.

import type { Effects } from "./effects.ts";
import { type Ground, Shot } from "./rules.ts";
import type { Flying, Person, Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Tolerances in position and direction for matching an own shot with the room's. */
const SAME_PATH_UNITS = 1.2;
const SAME_PATH_RADIANS = 0.06;

/** Lifetime of an own shot's record: longer than its flight and the delay until the room shows it. */
const FORGOTTEN_SECONDS = 3;

interface OwnShot {
  readonly shot: Shot;
  readonly fromX: number;
  readonly fromY: number;
  readonly aim: number;
  /** Entity of the same shot in the room. */
  id: number | undefined;
  isOver: boolean;
  ageSeconds: number;
}

/** Shot on the screen. */
export interface Tracer {
  readonly x: number;
  readonly y: number;
  readonly angle: number;
  readonly isOwn: boolean;
}

export class Shots {
  private readonly measures: Measures;
  private readonly effects: Effects;
  private own: OwnShot[] = [];
  private before = new Map<number, Flying>();
  private reload = 0;
  private stepSeconds = 0;

  constructor(measures: Measures, effects: Effects) {
    this.measures = measures;
    this.effects = effects;
  }

  /** Advances by a frame and returns the shots to draw. Without prediction, own shots come from the room as well. */
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

  /** Forgets everything, for another room. */
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
    // A finished shot is stored for a while, because the room shows it later than the page did.
    for (const { shot, ageSeconds } of this.own) if (ageSeconds >= FORGOTTEN_SECONDS) shot.free();
    this.own = this.own.filter(({ ageSeconds }) => ageSeconds < FORGOTTEN_SECONDS);
  }

  /**
   * The server tests hits against the positions that the shooter saw, so the page may end a shot at a visible player.
   */
  private hitsSomeone({ shot }: OwnShot, { people }: Scene): boolean {
    const near = this.measures.radius + 1;
    return people.some(({ isOwn, isProtected, x, y }) => !isOwn && !isProtected && Math.hypot(x - shot.x, y - shot.y) < near);
  }

  /** Finds the room's entities of own shots, so that they are not drawn twice. */
  private match({ shots, own }: Scene): void {
    for (const flying of shots) {
      if (flying.shooter !== own?.player || this.before.has(flying.id)) continue;
      const same = this.own.find((candidate) => candidate.id === undefined && isSamePath(candidate, flying));
      if (same !== undefined) same.id = flying.id;
    }
  }

  /** A shot that disappeared has hit something. */
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

function isSamePath({ aim, fromX, fromY }: OwnShot, { x, y, velocity }: Flying): boolean {
  const turn = Math.atan2(velocity[1], velocity[0]) - aim;
  const offRadians = Math.abs(Math.atan2(Math.sin(turn), Math.cos(turn)));
  const beside = Math.abs((x - fromX) * Math.sin(aim) - (y - fromY) * Math.cos(aim));
  return offRadians < SAME_PATH_RADIANS && beside < SAME_PATH_UNITS;
}
