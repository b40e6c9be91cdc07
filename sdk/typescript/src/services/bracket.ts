// Brackets: competitions of matches between two entrants. Operators and server code create them.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf, defined, toDate, toDateIfAny } from "./values.ts";

export type BracketFormat = "single_elimination" | "double_elimination" | "round_robin" | "swiss";

/** Players join during "registration", and report results while it is "running". */
export type BracketPhase = "registration" | "running" | "finished";

export interface Bracket<Metadata = JsonObject> {
  readonly id: string;
  readonly title: string;
  readonly format: BracketFormat;
  /** Order of the entrants at the start: of joining, by rating, or by ranks of a leaderboard. */
  readonly seeding: "order" | "rating" | "leaderboard";
  /** Leaderboard of the seeding; absent without one. */
  readonly leaderboardId: string | undefined;
  /** Rounds of a Swiss bracket; 0 for as many as are needed for one winner. */
  readonly rounds: number;
  /** Time for each match in seconds; 0 without a limit. */
  readonly matchSeconds: number;
  readonly entrants: number;
  readonly entrantsMax: number;
  readonly phase: BracketPhase;
  /** Grows with every change. */
  readonly version: number;
  /** Absent before the end. */
  readonly winnerId: string | undefined;
  readonly metadata: Metadata;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
}

/** Entrant, with the standing after the start. */
export interface BracketEntrant {
  /** Absent if the account was deleted. */
  readonly userId: string | undefined;
  /** Name when joining. */
  readonly username: string;
  /** From 1; 0 before the start. */
  readonly seed: number;
  /** From 1, the best; 0 before the start. */
  readonly rank: number;
  /** Two for a win, one for a draw. */
  readonly points: number;
  /** Sum of the points of all opponents. */
  readonly buchholz: number;
  readonly wins: number;
  readonly losses: number;
  readonly draws: number;
  readonly hasWithdrawn: boolean;
}

/** Result as one entrant reported it. */
export interface MatchReport {
  readonly outcome: "first" | "second" | "draw";
  /** Scores of the first and the second side. */
  readonly scores: readonly number[];
}

/** Side of a match. */
export interface BracketSide {
  /** Absent if the entrant is not known yet, for a bye, and for a deleted account. */
  readonly userId: string | undefined;
  readonly username: string;
  /** From 1; 0 if the entrant is not known yet, and for a bye. */
  readonly seed: number;
  /** True if there is nobody, so that the other side advances. */
  readonly isBye: boolean;
  readonly report: MatchReport | undefined;
}

export interface BracketMatch {
  /** From 0. */
  readonly number: number;
  /** "winners" is also the only side of a single elimination; "group" are rounds of all. */
  readonly section: "winners" | "losers" | "final" | "repeat" | "group";
  /** Round of the section, from 1. */
  readonly round: number;
  /** "disputed": the entrants reported different results; an operator decides. */
  readonly state: "waiting" | "ready" | "disputed" | "decided" | "skipped";
  readonly sides: readonly BracketSide[];
  /** Absent without a result. */
  readonly outcome: "first" | "second" | "draw" | "both_lose" | undefined;
  readonly reason: "agreed" | "operator" | "unanswered" | "timeout" | "walkover" | undefined;
  readonly winnerId: string | undefined;
  /** Scores of both sides; empty without a result. */
  readonly scores: readonly number[];
  /** Time until which results are reported; absent without a limit. */
  readonly deadline: Date | undefined;
}

export interface BracketDetail<Metadata = JsonObject> {
  readonly bracket: Bracket<Metadata>;
  /** By rank after the start, before it in the order of joining. */
  readonly entrants: readonly BracketEntrant[];
  readonly matches: readonly BracketMatch[];
}

export interface BracketPage<Metadata = JsonObject> {
  /** The newest first. */
  readonly brackets: readonly Bracket<Metadata>[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

export interface BracketListOptions extends CallOptions {
  /** Only brackets in this phase; all by default. */
  readonly phase?: BracketPhase;
  /** 1 to 100; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** Result of a match: the winner, or a draw where the format has draws. */
export type MatchResult = ({ readonly winnerId: string } | { readonly isDraw: true }) & {
  /** Scores of the first and the second side. */
  readonly scores?: readonly [number, number];
};

export class Brackets {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async list<Metadata = JsonObject>(options: BracketListOptions = {}): Promise<BracketPage<Metadata>> {
    const { phase, limit, cursor } = options;
    const call = { method: "GET", path: "/v2/bracket", query: { phase, limit, cursor }, isIdempotent: true } as const;
    const found = await this.session.call<{ brackets?: WireBracket[]; cursor?: string }>(call, options);
    return { brackets: (found.brackets ?? []).map((bracket) => bracketOf<Metadata>(bracket)), cursor: cursorOf(found.cursor) };
  }

  /** Returns a bracket with its entrants and matches. */
  async read<Metadata = JsonObject>(id: string, options?: CallOptions): Promise<BracketDetail<Metadata>> {
    const call = { method: "GET", path: path`/v2/bracket/${id}`, isIdempotent: true } as const;
    const { bracket, entrants = [], matches = [] } = await this.session.call<WireDetail>(call, options);
    return { bracket: bracketOf(bracket), entrants: entrants.map(entrantOf), matches: matches.map(matchOf) };
  }

  /** Enters a bracket before its start. */
  async join<Metadata = JsonObject>(id: string, options?: CallOptions): Promise<Bracket<Metadata>> {
    return bracketOf(await this.session.call<WireBracket>({ method: "POST", path: path`/v2/bracket/${id}/join` }, options));
  }

  /** Leaves a bracket, or withdraws from a running one. */
  async leave<Metadata = JsonObject>(id: string, options?: CallOptions): Promise<Bracket<Metadata>> {
    return bracketOf(await this.session.call<WireBracket>({ method: "POST", path: path`/v2/bracket/${id}/leave` }, options));
  }

  /** Reports the result of one of the player's matches. It counts when the opponent reports or confirms the same. */
  async report(id: string, match: number, result: MatchResult, options?: CallOptions): Promise<BracketMatch> {
    const outcome = "winnerId" in result ? { winner_id: result.winnerId } : { draw: true };
    const body = defined({ ...outcome, scores: result.scores });
    const call = { method: "POST", path: path`/v2/bracket/${id}/match/${String(match)}/report`, body } as const;
    return matchOf(await this.session.call<WireMatch>(call, options));
  }

  /** Confirms the report of the opponent. */
  async confirm(id: string, match: number, options?: CallOptions): Promise<BracketMatch> {
    const call = { method: "POST", path: path`/v2/bracket/${id}/match/${String(match)}/confirm` } as const;
    return matchOf(await this.session.call<WireMatch>(call, options));
  }
}

interface WireBracket {
  readonly id: string;
  readonly title: string;
  readonly format: BracketFormat;
  readonly seeding: Bracket["seeding"];
  readonly leaderboard_id?: string;
  readonly rounds: number;
  readonly match_seconds: number;
  readonly max_size: number;
  readonly size: number;
  readonly metadata: unknown;
  readonly phase: BracketPhase;
  readonly version: number | string;
  readonly create_time: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly winner_id: string;
}

interface WireEntrant {
  readonly user_id: string;
  readonly username: string;
  readonly seed: number;
  readonly rank: number;
  readonly points: number;
  readonly buchholz: number;
  readonly wins: number;
  readonly losses: number;
  readonly draws: number;
  readonly withdrawn: boolean;
}

interface WireSide {
  readonly user_id: string;
  readonly username: string;
  readonly seed: number;
  readonly bye: boolean;
  readonly report: MatchReport["outcome"] | "";
  readonly report_scores: readonly number[];
}

interface WireMatch {
  readonly number: number;
  readonly section: BracketMatch["section"];
  readonly round: number;
  readonly state: BracketMatch["state"];
  readonly sides: readonly WireSide[];
  readonly outcome: NonNullable<BracketMatch["outcome"]> | "";
  readonly reason: NonNullable<BracketMatch["reason"]> | "";
  readonly winner_id: string;
  readonly scores: readonly number[];
  readonly deadline: string;
}

interface WireDetail {
  readonly bracket: WireBracket;
  readonly entrants?: readonly WireEntrant[];
  readonly matches?: readonly WireMatch[];
}

function bracketOf<Metadata>(wire: WireBracket): Bracket<Metadata> {
  const { id, title, format, seeding, rounds, phase } = wire;
  return {
    id,
    title,
    format,
    seeding,
    leaderboardId: ifAny(wire.leaderboard_id),
    rounds,
    matchSeconds: wire.match_seconds,
    entrants: wire.size,
    entrantsMax: wire.max_size,
    phase,
    version: Number(wire.version),
    winnerId: ifAny(wire.winner_id),
    metadata: wire.metadata as Metadata,
    createdAt: toDate(wire.create_time),
    startedAt: toDateIfAny(ifAny(wire.start_time)),
    endedAt: toDateIfAny(ifAny(wire.end_time)),
  };
}

function entrantOf({ user_id, withdrawn, ...standing }: WireEntrant): BracketEntrant {
  return { ...standing, userId: ifAny(user_id), hasWithdrawn: withdrawn };
}

function matchOf({ number, section, round, state, sides, outcome, reason, winner_id, scores, deadline }: WireMatch): BracketMatch {
  return {
    number,
    section,
    round,
    state,
    sides: sides.map(sideOf),
    outcome: ifAny(outcome),
    reason: ifAny(reason),
    winnerId: ifAny(winner_id),
    scores,
    deadline: toDateIfAny(ifAny(deadline)),
  };
}

function sideOf({ user_id, username, seed, bye, report, report_scores }: WireSide): BracketSide {
  const reported = report === "" ? undefined : { outcome: report, scores: report_scores };
  return { userId: ifAny(user_id), username, seed, isBye: bye, report: reported };
}

/** Texts that are not known yet are empty. */
function ifAny<Name extends string>(text: Name | "" | undefined): Name | undefined {
  return text === "" ? undefined : text;
}
