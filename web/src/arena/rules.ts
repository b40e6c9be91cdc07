// What the page knows of Arena's rules: measures that it draws and steers by.

/** The world ends here on every side. */
export const EDGE = 1_000;

/** How far from its middle an eater can aim. */
export const STEER_REACH = 400;

/** What a blob must weigh to split. */
export const SPLIT_MASS_MIN = 40;

/** The radius of a blob. */
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

/** The board of the room has `eaters`, that of all time has not. */
export interface BoardFields {
  readonly rows: readonly Row[];
  readonly eaters?: number;
}

/** What a player does. */
export interface Steer {
  readonly aim: readonly [number, number];
  readonly split: boolean;
}
