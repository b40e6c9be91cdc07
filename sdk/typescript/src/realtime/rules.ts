// How the own entity moves, and what it moves among.

import type { Entity, Fields } from "./core.ts";

/** The game's rules: a function of this page, or one that calls the game's own rules as a WASM module. */
export interface Rules<State extends object = Fields, Input extends object = Fields> {
  /** The channel whose component is predicted, such as "movement". */
  readonly channel: string;
  /** Changes the state by one input that lasts so many seconds, as the server does. Numbers are those that the wire can say,
   * before and after. State and input are used again: what is to be kept of them has to be copied. */
  step(state: State, input: Input, seconds: number, world: Surroundings): void;
  /** Fields that only the server decides and that no prediction can know; a change of them is no correction. */
  readonly ignored?: readonly string[];
}

/** What is known of the world while rules step: as new as it is, and not between two states. */
export interface Surroundings {
  /** The newest state of a channel's entities. */
  entities<Values = Fields>(channel: string): Iterable<Entity<Values>>;
  /** A number that changes whenever an entity of the channel entered, left or changed: rules keep what they derived while
   * it stays. */
  version(channel: string): number;
}

/** What is shown. All are on, unless they are switched off, which is for panels that show what they do. */
export interface Settings {
  /** Whether the own entity moves at once, by the rules. */
  readonly prediction: boolean;
  /** Whether what was predicted is put right by what the server says. */
  readonly reconciliation: boolean;
  /** Whether others are shown between two states, a little in the past. */
  readonly interpolation: boolean;
}

export const DEFAULT_SETTINGS: Settings = { prediction: true, reconciliation: true, interpolation: true };
