// Changes of brackets, which their entrants are told.

import type { BracketPhase } from "../services/bracket.ts";
import { toObject } from "../services/values.ts";
import type { StreamName } from "./events.ts";

/** Mode of the streams of brackets. */
const STREAM_MODE = 9;

/** Change of a bracket that the player has entered. Read it with `client.brackets`. */
export interface BracketUpdate {
  readonly bracketId: string;
  readonly version: number;
  readonly phase: BracketPhase;
  readonly entrants: number;
  /** Numbers of the matches that changed. */
  readonly matches: readonly number[];
}

export function isOfBracket({ mode }: StreamName): boolean {
  return mode === STREAM_MODE;
}

/** Parses data of the stream of a bracket. */
export function bracketUpdateOf(data: string): BracketUpdate | undefined {
  const { bracket_id, version, phase, size, matches } = toObject(data) as Partial<WireUpdate>;
  if (bracket_id === undefined || version === undefined || phase === undefined) return undefined;
  return { bracketId: bracket_id, version, phase, entrants: size ?? 0, matches: matches ?? [] };
}

interface WireUpdate {
  readonly bracket_id: string;
  readonly version: number;
  readonly phase: BracketPhase;
  readonly size: number;
  readonly matches: readonly number[];
}
