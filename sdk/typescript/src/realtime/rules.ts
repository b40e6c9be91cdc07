// Movement rules of the own entity, for prediction.

import type { Entity, Fields } from "./core.ts";

/** Game's movement rules: a function of this page, or one that calls the game's rules crate as a WASM module. */
export interface Rules<State extends object = Fields, Input extends object = Fields> {
  /** The channel whose component is predicted, such as "movement". */
  readonly channel: string;
  /**
   * Changes the state by one input of the given duration, as the server does. Numbers are rounded to what the wire can
   * express, before and after. State and input objects are reused: copy what you store.
   */
  step(state: State, input: Input, seconds: number, world: Surroundings): void;
  /** Fields that only the server decides. A change of them is not a correction. */
  readonly ignored?: readonly string[];
}

/** Newest known state of the world, not interpolated. */
export interface Surroundings {
  /** Newest state of a channel's entities. */
  entities<Values = Fields>(channel: string): Iterable<Entity<Values>>;
  /**
   * Number that changes whenever an entity of the channel enters, leaves or changes. Rules can cache derived data while
   * it stays the same.
   */
  version(channel: string): number;
}

/** Switches of a room, all on by default. Switching one off shows what it does. */
export interface Settings {
  /** The own entity moves at once, by the rules. */
  readonly prediction: boolean;
  /** Predictions are corrected by the server's state. */
  readonly reconciliation: boolean;
  /** Remote entities are drawn between two known states, slightly in the past. */
  readonly interpolation: boolean;
}

export const DEFAULT_SETTINGS: Settings = { prediction: true, reconciliation: true, interpolation: true };
