// Rules of Quilt that the page needs: the shapes of its components, and the movement of a needle.

import type { Rules, Surroundings } from "@aether-game/client";

/** Size of the cloth, in cells. */
export const WIDTH = 96;
export const HEIGHT = 64;

/** Side of a patch of the cloth, in cells. */
export const PATCH = 8;

/** Points of a full thread. */
export const SPOOL = 60;

/** Distance that a needle keeps from the edge of the cloth. */
const EDGE = 0.5;

/** Movement until the state of the round has arrived. */
const SPEED_DEFAULT = 9;
const TURN_DEFAULT = 4.5;

export type Pair = readonly [number, number];

export interface NeedleFields {
  position: [number, number];
  heading: number;
  readonly seat: number;
}

export interface ThreadFields {
  readonly points: readonly Pair[];
}

export interface ClothFields {
  readonly patch: number;
  readonly cells: readonly number[];
}

export interface SeatFields {
  readonly seat: number;
  readonly name: string;
  readonly is_bot: boolean;
  readonly cells: number;
  readonly snips: number;
  /** Id of the needle; 0 if it has none. */
  readonly needle: number;
}

export interface RoundFields {
  readonly phase: "sewing" | "finished";
  readonly seconds: number;
  readonly winner: number;
  readonly speed: number;
  readonly turn: number;
}

/** Input of a player: the direction to steer to, in radians. */
export interface Steer {
  readonly aim: number;
}

/** Movement of the own needle. The server has the same rule: see `step` in games/quilt/lua/quilt.lua. */
export const RULES: Rules<NeedleFields, Steer> = {
  channel: "needles",
  ignored: ["seat"],
  step(needle, { aim }, seconds, world) {
    const { speed, turn } = movementOf(world);
    const most = turn * seconds;
    const heading = needle.heading + clamp(turnBetween(needle.heading, aim), -most, most);
    const [x, y] = needle.position;
    needle.position = [
      clamp(x + Math.cos(heading) * speed * seconds, EDGE, WIDTH - EDGE),
      clamp(y + Math.sin(heading) * speed * seconds, EDGE, HEIGHT - EDGE),
    ];
    needle.heading = modulo(heading, 2 * Math.PI);
  },
};

/** Returns the shortest turn from one angle to another. */
export function turnBetween(from: number, to: number): number {
  return modulo(to - from + Math.PI, 2 * Math.PI) - Math.PI;
}

/** Returns speed and turn of the round: a developer may change them while the game runs. */
function movementOf(world: Surroundings): { readonly speed: number; readonly turn: number } {
  for (const { fields } of world.entities<RoundFields>("round")) return fields;
  return { speed: SPEED_DEFAULT, turn: TURN_DEFAULT };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function modulo(value: number, by: number): number {
  return value - Math.floor(value / by) * by;
}
