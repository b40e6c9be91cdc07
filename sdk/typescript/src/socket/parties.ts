// Parties of the player: creating, joining, and joining again after a lost connection.

import { toBase64 } from "../base64.ts";
import { AetherError } from "../error.ts";
import type { CallOptions } from "../services/requests.ts";
import { type Integer, fromInteger } from "../services/values.ts";
import type { Time } from "../time.ts";
import type { LeaveReason, NotRestored, SocketContext } from "./events.ts";
import { labelText } from "../services/label.ts";
import { type Matchmaker, type Ticket, wireTicket } from "./matchmaker.ts";
import { changeOf, isChange } from "./members.ts";
import { Party, type PartyOptions } from "./party.ts";
import { restoreErrorOf } from "./restore.ts";
import { type ClientMessage, type Presence, type ServerMessage, type WireParty, dataOf, presenceOf, presencesOf } from "./wire.ts";

/** Time limit for the state of an open party, which follows the answer to a join. A closed party sends none. */
const STATE_MS_MAX = 2_000;

/**
 * Refusal while the server counts the lost session as a member: it has not noticed the loss yet. The protocol has no code
 * for it.
 */
const STILL_MEMBER = /already in the party/i;

/** Pauses before such a party is joined again, until the server closes connections that are silent. */
const REJOIN_PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000] as const;

/** A join that waits for the state of the party. */
interface Waiter {
  readonly partyId: string;
  readonly entered: Promise<Party>;
  readonly settle: (result: Party | Error) => void;
}

export class Parties {
  private readonly context: SocketContext;
  private readonly matchmaker: Matchmaker;
  private readonly time: Time;
  private readonly joined = new Map<string, Party>();
  private readonly waiters = new Set<Waiter>();
  /** Cancels later attempts to join again. */
  private readonly retries = new Set<() => void>();

  constructor(context: SocketContext, matchmaker: Matchmaker, time: Time) {
    this.context = context;
    this.matchmaker = matchmaker;
    this.time = time;
  }

  /** Parties that the player is a member of. */
  get all(): readonly Party[] {
    return [...this.joined.values()];
  }

  /** Creates a party with the player as its leader. */
  create({ membersMax, isOpen = true, isHidden = false, label = {} }: PartyOptions & { readonly membersMax: number }, options?: CallOptions): Promise<Party> {
    return this.context.connection.request(
      { party_create: { open: isOpen, max_size: membersMax, hidden: isHidden, label: labelText(label) } },
      { read: ({ party = {} }) => this.enter(party), undo: ({ party }) => this.takeBack(party?.party_id ?? "") },
      options,
    );
  }

  /**
   * Joins a party. Resolves when the player is a member: of a closed party, when its leader has accepted. A refusal is
   * not announced, so give a `timeoutMs` or a `signal` for a closed party.
   */
  async join(id: string, options: CallOptions = {}): Promise<Party> {
    const known = this.joined.get(id);
    if (known !== undefined) return known;
    options.signal?.throwIfAborted();
    const waiter = this.wait(id, options);
    try {
      // The state may arrive before the answer.
      await Promise.race([waiter.entered, this.call({ party_join: { party_id: id } }, options)]);
      return await waiter.entered;
    } catch (error) {
      waiter.settle(error as Error);
      const isGivenUp = options.signal?.aborted === true || (error instanceof AetherError && error.code === "timed_out");
      if (isGivenUp) this.takeBack(id);
      throw error;
    }
  }

  async leave(party: Party, options?: CallOptions): Promise<void> {
    const read = (): void => this.forget(party);
    // Without a connection the player has left already, and must not join again.
    if (this.context.connection.phase !== "connected") return read();
    await this.context.connection.request({ party_leave: { party_id: party.id } }, { read }, options);
  }

  send(id: string, opCode: Integer, data: Uint8Array | string): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    this.context.connection.send({ party_data_send: { party_id: id, op_code: fromInteger(opCode), data: toBase64(bytes) } });
  }

  /** Sends a request whose answer has no contents. */
  call(message: ClientMessage, options?: CallOptions): Promise<void> {
    return this.context.connection.request(message, { read: () => undefined }, options);
  }

  joinRequests(id: string, options?: CallOptions): Promise<readonly Presence[]> {
    const read = (answer: ServerMessage): readonly Presence[] => presencesOf(answer.party_join_request?.presences);
    return this.context.connection.request({ party_join_request_list: { party_id: id } }, { read }, options);
  }

  addTicket(id: string, ticket: Ticket, options?: CallOptions): Promise<string> {
    const ticketOf = (answer: ServerMessage): string => answer.party_matchmaker_ticket?.ticket ?? "";
    return this.context.connection.request(
      { party_matchmaker_add: { party_id: id, ...wireTicket(ticket) } },
      {
        read: (answer) => this.matchmaker.added(ticketOf(answer), id),
        undo: (answer) => this.context.connection.tell({ party_matchmaker_remove: { party_id: id, ticket: ticketOf(answer) } }),
      },
      options,
    );
  }

  removeTicket(id: string, ticket: string, options?: CallOptions): Promise<void> {
    const read = (): void => this.matchmaker.removed(ticket);
    return this.context.connection.request({ party_matchmaker_remove: { party_id: id, ticket } }, { read }, options);
  }

  /** Handles a message of the server about a party. */
  handle(message: ServerMessage): void {
    if (message.party !== undefined) return this.handleState(message.party);
    if (message.party_presence_event !== undefined) return this.handleMembers(message.party_presence_event);
    const { party_leader, party_update, party_data, party_join_request, party_matchmaker_ticket, party_close } = message;
    const about = party_leader ?? party_update ?? party_data ?? party_join_request ?? party_matchmaker_ticket ?? party_close;
    const party = this.joined.get(about?.party_id ?? "");
    if (party === undefined) return;
    if (party_leader !== undefined) this.handleLeader(party, presenceOf(party_leader.presence));
    if (party_update !== undefined) {
      party.updated({ open: party_update.open ?? false, hidden: party_update.hidden ?? false, label: party_update.label ?? "" });
      this.context.emit({ kind: "party_updated", party });
    }
    if (party_data !== undefined) this.context.emit({ kind: "party_data", party, ...dataOf(party_data) });
    if (party_join_request !== undefined) this.context.emit({ kind: "party_join_requests", party, presences: presencesOf(party_join_request.presences) });
    if (party_matchmaker_ticket !== undefined) {
      const ticket = this.matchmaker.added(party_matchmaker_ticket.ticket ?? "", party.id);
      this.context.emit({ kind: "party_ticket", party, ticket });
    }
    if (party_close !== undefined) this.lose(party, "closed", "The party was closed, or you were removed from it.");
  }

  /** Rejects joins that wait, because the connection is gone. */
  disconnected(): void {
    for (const cancel of this.retries) cancel();
    this.retries.clear();
    const error = new AetherError("disconnected", "The connection was lost before the party was joined.");
    for (const { settle } of [...this.waiters]) settle(error);
  }

  /** Joins all parties again. */
  async restore(): Promise<NotRestored[]> {
    const failures: NotRestored[] = [];
    for (const party of this.all) {
      try {
        await this.rejoin(party.id);
      } catch (thrown) {
        const error = restoreErrorOf(thrown);
        if (STILL_MEMBER.test(error.message)) this.rejoinLater(party, REJOIN_PAUSES_MS);
        else {
          this.lose(party, "not_restored", error.message);
          failures.push({ what: "party", id: party.id, error });
        }
      }
    }
    return failures;
  }

  /** Joins a party again when the server has ended the lost session. */
  private rejoinLater(party: Party, [pause, ...later]: readonly number[]): void {
    const attempt = async (): Promise<void> => {
      this.retries.delete(cancel);
      if (!party.isJoined) return;
      try {
        await this.rejoin(party.id);
      } catch (error) {
        // The next connection restores the party.
        if (!(error instanceof AetherError) || error.code === "disconnected") return;
        if (STILL_MEMBER.test(error.message) && later.length > 0) this.rejoinLater(party, later);
        else this.lose(party, "not_restored", error.message);
      }
    };
    const cancel = this.time.after(pause ?? 0, () => void attempt());
    this.retries.add(cancel);
  }

  private async rejoin(id: string): Promise<void> {
    const waiter = this.wait(id, {});
    let cancel = (): void => undefined;
    try {
      await this.context.connection.request({ party_join: { party_id: id } }, { read: () => undefined }, { isRestoring: true });
      const isClosed = new AetherError("failed_precondition", "The party is closed; its leader must accept you again.");
      cancel = this.time.after(STATE_MS_MAX, () => waiter.settle(isClosed));
      await waiter.entered;
    } finally {
      cancel();
      this.waiters.delete(waiter);
    }
  }

  /** Waits for the state of a party. */
  private wait(partyId: string, { signal, timeoutMs }: CallOptions): Waiter {
    let settle: Waiter["settle"] = () => undefined;
    const entered = new Promise<Party>((resolve, reject) => {
      settle = (result) => {
        this.waiters.delete(waiter);
        cancel();
        signal?.removeEventListener("abort", aborted);
        if (result instanceof Party) resolve(result);
        else reject(result);
      };
    });
    // A caller that fails earlier does not await it.
    entered.catch(() => undefined);
    const waiter: Waiter = { partyId, entered, settle };
    const aborted = (): void => settle(signal?.reason as Error);
    const late = (): void => settle(new AetherError("timed_out", "The leader of the party has not accepted you in time."));
    const cancel = timeoutMs === undefined ? () => undefined : this.time.after(timeoutMs, late);
    signal?.addEventListener("abort", aborted, { once: true });
    this.waiters.add(waiter);
    return waiter;
  }

  private waitersOf(partyId: string): Waiter[] {
    return [...this.waiters].filter((waiter) => waiter.partyId === partyId);
  }

  /** Takes back a join that nobody waits for any more. */
  private takeBack(partyId: string): void {
    if (this.joined.has(partyId) || this.waitersOf(partyId).length > 0) return;
    this.context.connection.tell({ party_leave: { party_id: partyId } });
  }

  private handleState(wire: WireParty): void {
    const isKnown = this.joined.has(wire.party_id ?? "");
    const waiters = this.waitersOf(wire.party_id ?? "");
    const party = this.enter(wire);
    if (waiters.length === 0 && !isKnown) this.context.emit({ kind: "party", party });
    for (const { settle } of waiters) settle(party);
  }

  /** Records the state of a party, and reports what changed since it was known. */
  private enter(wire: WireParty): Party {
    const known = this.joined.get(wire.party_id ?? "");
    if (known === undefined) {
      const party = new Party(this, wire);
      this.joined.set(party.id, party);
      return party;
    }
    const wasLedBy = known.leader.sessionId;
    const change = known.rejoined(wire);
    if (isChange(change)) this.context.emit({ kind: "party_members", party: known, ...change });
    if (known.leader.sessionId !== wasLedBy) this.context.emit({ kind: "party_leader", party: known, leader: known.leader });
    return known;
  }

  private handleMembers(event: NonNullable<ServerMessage["party_presence_event"]>): void {
    const party = this.joined.get(event.party_id ?? "");
    if (party === undefined) return;
    // The own join follows the state of the party, which contains it.
    const change = party.changed(changeOf(event));
    if (!isChange(change)) return;
    this.context.emit({ kind: "party_members", party, ...change });
    const isSelf = ({ sessionId }: Presence): boolean => sessionId === party.self.sessionId;
    if (change.leaves.some(isSelf) && !change.joins.some(isSelf)) this.lose(party, "removed", "You are not in the party any more.");
    else this.matchmaker.partyChanged(party.id);
  }

  private handleLeader(party: Party, leader: Presence): void {
    party.updated({ leader: { user_id: leader.userId, session_id: leader.sessionId, username: leader.username } });
    this.context.emit({ kind: "party_leader", party, leader });
  }

  private lose(party: Party, reason: LeaveReason, text: string): void {
    this.forget(party);
    this.context.emit({ kind: "party_left", party, reason, text });
  }

  private forget(party: Party): void {
    this.joined.delete(party.id);
    this.matchmaker.partyChanged(party.id);
  }
}
