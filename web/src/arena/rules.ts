// Constants and types of Arena's rules that the page uses.

/** Edge of the world on every side. */
export const EDGE = 1_000;

/** Aim distance for full speed. */
export const STEER_REACH = 400;

/** Minimum mass for a split. */
export const SPLIT_MASS_MIN = 40;

/** Returns the radius of a blob. */
export function radiusOf(mass: number): number {
  return 4 * Math.sqrt(Math.max(0, mass));
}

export interface BlobFields {
  readonly position: readonly [number, number];
  readonly velocity: readonly [number, number];
  readonly mass: number;
}

export interface LabelFields {
  readonly eater: number;
  readonly name: string;
  readonly hue: number;
}

export interface PelletFields {
  readonly position: readonly [number, number];
  readonly hue: number;
}

export interface Row {
  readonly name: string;
  readonly mass: number;
  readonly eater: number;
}

/** The room's board has `eaters`, the all-time board has not. */
export interface BoardFields {
  readonly rows: readonly Row[];
  readonly eaters?: number;
}

/** Input of a player. */
export interface Steer {
  readonly aim: readonly [number, number];
  readonly split: boolean;
}
