// Parties: groups of players who look for a match together.

import type { CallOptions } from "../services/requests.ts";
import type { Integer, JsonObject } from "../services/values.ts";
import { labelOf, labelText } from "../services/label.ts";
import { type Change, Members } from "./members.ts";
import type { Ticket } from "./matchmaker.ts";
import type { Parties } from "./parties.ts";
import { type Presence, type WireParty, presenceOf, presencesOf, wirePresence } from "./wire.ts";

export interface PartyOptions {
  /** Anyone may join an open party; the leader of a closed one accepts requests. True by default. */
  readonly isOpen?: boolean;
  /** Lists leave a hidden party out. */
  readonly isHidden?: boolean;
  /** Shown in lists, which can be filtered by it. */
  readonly label?: JsonObject;
}

export class Party {
  readonly id: string;
  readonly membersMax: number;
  private readonly parties: Parties;
  private readonly known = new Members();
  private wire: WireParty;

  /** Use `socket.parties`. */
  constructor(parties: Parties, wire: WireParty) {
    this.parties = parties;
    this.id = wire.party_id ?? "";
    this.membersMax = wire.max_size ?? 0;
    this.wire = wire;
    this.known.replace(membersOf(wire));
  }

  get isOpen(): boolean {
    return this.wire.open ?? false;
  }

  get isHidden(): boolean {
    return this.wire.hidden ?? false;
  }

  get label(): JsonObject {
    return labelOf(this.wire.label);
  }

  /** Last known members, including the player. */
  get members(): readonly Presence[] {
    return this.known.list;
  }

  /** Own presence; another one after a lost connection. */
  get self(): Presence {
    return presenceOf(this.wire.self);
  }

  get leader(): Presence {
    return presenceOf(this.wire.leader);
  }

  /** True if the player leads the party. Only the leader may change it, and add it to the matchmaker. */
  get isLeader(): boolean {
    return this.leader.sessionId === this.self.sessionId;
  }

  /** True until the player leaves or `party_left` follows; also while the connection is lost. */
  get isJoined(): boolean {
    return this.parties.all.includes(this);
  }

  /** Sends data to the other members. Throws if the socket is not connected. */
  send(opCode: Integer, data: Uint8Array | string): void {
    this.parties.send(this.id, opCode, data);
  }

  /** Leaves the party. If the leader leaves, the member who joined first leads. */
  leave(options?: CallOptions): Promise<void> {
    return this.parties.leave(this, options);
  }

  /** Ends the party for all members. */
  close(options?: CallOptions): Promise<void> {
    return this.parties.call({ party_close: { party_id: this.id } }, options);
  }

  /** Makes a member the leader. */
  promote(member: Presence, options?: CallOptions): Promise<void> {
    return this.parties.call({ party_promote: { party_id: this.id, presence: wirePresence(member) } }, options);
  }

  /** Removes a member, or refuses a request to join. */
  remove(member: Presence, options?: CallOptions): Promise<void> {
    return this.parties.call({ party_remove: { party_id: this.id, presence: wirePresence(member) } }, options);
  }

  /** Accepts a request to join. */
  accept(player: Presence, options?: CallOptions): Promise<void> {
    return this.parties.call({ party_accept: { party_id: this.id, presence: wirePresence(player) } }, options);
  }

  /** Returns players who ask to join. */
  joinRequests(options?: CallOptions): Promise<readonly Presence[]> {
    return this.parties.joinRequests(this.id, options);
  }

  /** Changes the given options. */
  async update(change: PartyOptions, options?: CallOptions): Promise<void> {
    const { isOpen = this.isOpen, isHidden = this.isHidden, label = this.label } = change;
    const fields = { open: isOpen, hidden: isHidden, label: labelText(label) };
    await this.parties.call({ party_update: { party_id: this.id, ...fields } }, options);
    this.updated(fields);
  }

  /** Adds the party to the matchmaker; resolves with the id of its ticket. All members get `matched`. */
  addTicket(ticket: Ticket, options?: CallOptions): Promise<string> {
    return this.parties.addTicket(this.id, ticket, options);
  }

  /** Removes the party from the matchmaker. */
  removeTicket(ticket: string, options?: CallOptions): Promise<void> {
    return this.parties.removeTicket(this.id, ticket, options);
  }

  /** Takes over the state after joining again. Returns what changed meanwhile. */
  rejoined(wire: WireParty): Change {
    const own = [this.self.sessionId, wire.self?.session_id];
    this.wire = wire;
    const { joins, leaves } = this.known.replace(membersOf(wire));
    const isOther = ({ sessionId }: Presence): boolean => !own.includes(sessionId);
    return { joins: joins.filter(isOther), leaves: leaves.filter(isOther) };
  }

  /** Applies a change of the members. Returns what was not known before. */
  changed(change: Change): Change {
    return this.known.apply(change);
  }

  updated(fields: Pick<WireParty, "open" | "hidden" | "label" | "leader">): void {
    this.wire = { ...this.wire, ...fields };
  }
}

/** Members of a party: the list leaves a player out who has just joined. */
function membersOf({ presences, self }: WireParty): Presence[] {
  const others = presencesOf(presences).filter(({ sessionId }) => sessionId !== self?.session_id);
  return self === undefined ? others : [...others, presenceOf(self)];
}
