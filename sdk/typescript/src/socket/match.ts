// Matches: groups of players who send data to each other, or to a match of the server.

import { toBase64 } from "../base64.ts";
import type { CallOptions } from "../services/requests.ts";
import { type Integer, defined, fromInteger } from "../services/values.ts";
import type { JoinMetadata } from "../realtime/core.ts";
import type { RequestOptions } from "./connection.ts";
import type { LeaveReason, NotRestored, SocketContext } from "./events.ts";
import { type Change, Members, changeOf, isChange } from "./members.ts";
import { restoreErrorOf } from "./restore.ts";
import { type ClientMessage, type Presence, type WireChange, type WireMatch, type WireMatchData, dataOf, presenceOf, presencesOf, wirePresence } from "./wire.ts";

/** Selects a match: by its id, or by the token that the matchmaker gave. */
export type MatchChoice = { readonly id: string } | { readonly token: string };

export interface MatchJoinOptions extends CallOptions {
  /** Texts for the match. They are sent again after a lost connection. */
  readonly metadata?: JoinMetadata;
}

export interface SendOptions {
  /** Members who get the data; all others by default. */
  readonly to?: readonly Presence[];
  /** True by default. */
  readonly isReliable?: boolean;
}

export class Match {
  readonly id: string;
  readonly isAuthoritative: boolean;
  readonly label: string;
  private readonly matches: Matches;
  private readonly known = new Members();
  private presence: Presence;
  private joinMetadata: JoinMetadata | undefined;

  /** Use `socket.matches`. */
  constructor(matches: Matches, match: WireMatch, metadata: JoinMetadata | undefined) {
    this.matches = matches;
    this.id = match.match_id ?? "";
    this.isAuthoritative = match.authoritative ?? false;
    this.label = match.label ?? "";
    this.joinMetadata = metadata;
    this.presence = presenceOf(match.self);
    this.known.replace(membersOf(match));
  }

  /** Last known members, including the player. */
  get members(): readonly Presence[] {
    return this.known.list;
  }

  /** Own presence; another one after a lost connection. */
  get self(): Presence {
    return this.presence;
  }

  /** Texts of the last join. */
  get metadata(): JoinMetadata | undefined {
    return this.joinMetadata;
  }

  /** True until the player leaves or `match_left` follows; also while the connection is lost. */
  get isJoined(): boolean {
    return this.matches.all.includes(this);
  }

  /** Sends data to the other members, or to the match. Throws if the socket is not connected. */
  send(opCode: Integer, data: Uint8Array | string, options: SendOptions = {}): void {
    this.matches.send(this.id, opCode, data, options);
  }

  /** Leaves the match. */
  leave(options?: CallOptions): Promise<void> {
    return this.matches.leave(this, options);
  }

  /** Takes over the state after joining again. Returns what changed meanwhile. */
  rejoined(match: WireMatch, metadata: JoinMetadata | undefined): Change {
    const own = [this.presence.sessionId, match.self?.session_id];
    this.presence = presenceOf(match.self);
    this.joinMetadata = metadata;
    const { joins, leaves } = this.known.replace(membersOf(match));
    const isOther = ({ sessionId }: Presence): boolean => !own.includes(sessionId);
    return { joins: joins.filter(isOther), leaves: leaves.filter(isOther) };
  }

  /** Applies a change of the members. Returns what was not known before. */
  changed(change: Change): Change {
    return this.known.apply(change);
  }
}

export class Matches {
  private readonly context: SocketContext;
  private readonly joined = new Map<string, Match>();

  constructor(context: SocketContext) {
    this.context = context;
  }

  /** Matches that the player has joined. */
  get all(): readonly Match[] {
    return [...this.joined.values()];
  }

  /** Creates a relayed match. Players who give the same name join the same match. */
  create(name?: string, options?: CallOptions): Promise<Match> {
    return this.enter({ match_create: defined({ name }) }, undefined, options);
  }

  /** Joins a match. */
  join(choice: MatchChoice | string, options: MatchJoinOptions = {}): Promise<Match> {
    const { metadata } = options;
    const match = typeof choice === "string" ? { id: choice } : choice;
    const fields = "id" in match ? { match_id: match.id, metadata } : { token: match.token, metadata };
    return this.enter({ match_join: defined(fields) }, metadata, options);
  }

  async leave(match: Match, options?: CallOptions): Promise<void> {
    const read = (): void => void this.joined.delete(match.id);
    // Without a connection the player has left already, and must not join again.
    if (this.context.connection.phase !== "connected") return read();
    await this.context.connection.request({ match_leave: { match_id: match.id } }, { read }, options);
  }

  send(id: string, opCode: Integer, data: Uint8Array | string, { to, isReliable = true }: SendOptions): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const fields = { match_id: id, op_code: fromInteger(opCode), data: toBase64(bytes), presences: to?.map(wirePresence), reliable: isReliable };
    this.context.connection.send({ match_data_send: defined(fields) });
  }

  handleData(event: WireMatchData): void {
    const match = this.joined.get(event.match_id ?? "");
    if (match !== undefined) this.context.emit({ kind: "match_data", match, ...dataOf(event), isReliable: event.reliable ?? false });
  }

  handleMembers(event: WireChange & { readonly match_id?: string }): void {
    const match = this.joined.get(event.match_id ?? "");
    if (match === undefined) return;
    const change = match.changed(changeOf(event));
    if (!isChange(change)) return;
    this.context.emit({ kind: "match_members", match, ...change });
    const isSelf = ({ sessionId }: Presence): boolean => sessionId === match.self.sessionId;
    if (change.leaves.some(isSelf) && !change.joins.some(isSelf)) this.lose(match, "removed", "You are not in the match any more.");
  }

  /** Joins all matches again. */
  async restore(): Promise<NotRestored[]> {
    const failures: NotRestored[] = [];
    for (const match of this.all) {
      try {
        await this.rejoin(match);
      } catch (thrown) {
        const error = restoreErrorOf(thrown);
        this.lose(match, "not_restored", error.message);
        failures.push({ what: "match", id: match.id, error });
      }
    }
    return failures;
  }

  private rejoin(match: Match): Promise<Match> {
    const message = { match_join: defined({ match_id: match.id, metadata: match.metadata }) };
    return this.enter(message, match.metadata, { isRestoring: true });
  }

  private enter(message: ClientMessage, metadata: JoinMetadata | undefined, options?: RequestOptions): Promise<Match> {
    return this.context.connection.request(
      message,
      {
        read: ({ match = {} }) => this.entered(match, metadata),
        undo: ({ match }) => this.context.connection.tell({ match_leave: { match_id: match?.match_id ?? "" } }),
      },
      options,
    );
  }

  /** Records the state of a match, and reports what changed since it was known. */
  private entered(wire: WireMatch, metadata: JoinMetadata | undefined): Match {
    const known = this.joined.get(wire.match_id ?? "");
    if (known === undefined) {
      const match = new Match(this, wire, metadata);
      this.joined.set(match.id, match);
      return match;
    }
    const change = known.rejoined(wire, metadata);
    if (isChange(change)) this.context.emit({ kind: "match_members", match: known, ...change });
    return known;
  }

  private lose(match: Match, reason: LeaveReason, text: string): void {
    this.joined.delete(match.id);
    this.context.emit({ kind: "match_left", match, reason, text });
  }
}

/** Members of a match: the list leaves a player out who has just joined. */
function membersOf({ presences, self }: WireMatch): Presence[] {
  const others = presencesOf(presences).filter(({ sessionId }) => sessionId !== self?.session_id);
  return self === undefined ? others : [...others, presenceOf(self)];
}

