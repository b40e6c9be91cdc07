// Matchmaker: tickets of players who look for a match.

import type { CallOptions } from "../services/requests.ts";
import { defined } from "../services/values.ts";
import type { MatchedUser, SocketContext } from "./events.ts";
import { type WireMatched, type WireMatchedUser, presenceOf } from "./wire.ts";

/** Search for a match. */
export interface Ticket {
  /** Smallest number of players, at least 2. */
  readonly playersMin: number;
  readonly playersMax: number;
  /** The number of players is a multiple of this. */
  readonly playersMultiple?: number;
  /** Condition that the other tickets must meet, such as `+properties.mode:duel`; everyone by default. */
  readonly query?: string;
  /** Texts that the queries of others can use. */
  readonly strings?: Readonly<Record<string, string>>;
  /** Numbers that the queries of others can use. */
  readonly numbers?: Readonly<Record<string, number>>;
}

export class Matchmaker {
  private readonly context: SocketContext;
  /** Tickets that search, with the id of their party. */
  private readonly searching = new Map<string, string | undefined>();
  /** Tickets that ended with a lost connection. */
  private lost: string[] = [];

  constructor(context: SocketContext) {
    this.context = context;
  }

  /** Tickets that search, the own ones and those of the player's parties. */
  get tickets(): readonly string[] {
    return [...this.searching.keys()];
  }

  /** Adds a ticket of the player alone; resolves with its id. The event `matched` follows. */
  add(ticket: Ticket, options?: CallOptions): Promise<string> {
    return this.context.connection.request(
      { matchmaker_add: wireTicket(ticket) },
      {
        read: (answer) => this.added(answer.matchmaker_ticket?.ticket ?? "", undefined),
        undo: (answer) => this.context.connection.tell({ matchmaker_remove: { ticket: answer.matchmaker_ticket?.ticket ?? "" } }),
      },
      options,
    );
  }

  /** Removes a ticket of the player alone. */
  async remove(ticket: string, options?: CallOptions): Promise<void> {
    const read = (): void => this.removed(ticket);
    await this.context.connection.request({ matchmaker_remove: { ticket } }, { read }, options);
  }

  /** Records a ticket. */
  added(ticket: string, partyId: string | undefined): string {
    this.searching.set(ticket, partyId);
    return ticket;
  }

  /** Forgets a ticket. */
  removed(ticket: string): void {
    this.searching.delete(ticket);
  }

  /** Reports the tickets of a party whose members changed: the server has ended them. */
  partyChanged(partyId: string): void {
    const tickets = this.tickets.filter((ticket) => this.searching.get(ticket) === partyId);
    for (const ticket of tickets) this.removed(ticket);
    if (tickets.length > 0) this.context.emit({ kind: "tickets_lost", tickets, reason: "party_changed" });
  }

  /** Forgets all tickets: they end with the session. */
  disconnected(): void {
    this.lost.push(...this.tickets);
    this.searching.clear();
  }

  /** Reports tickets that ended with a lost connection, now that others can be added. */
  reconnected(): void {
    const tickets = this.lost;
    this.lost = [];
    if (tickets.length > 0) this.context.emit({ kind: "tickets_lost", tickets, reason: "disconnected" });
  }

  handle(event: WireMatched): void {
    const { ticket = "", match_id, token = "", users = [], self } = event;
    this.removed(ticket);
    const match = match_id === undefined || match_id === "" ? { token } : { id: match_id };
    this.context.emit({ kind: "matched", ticket, match, users: users.map(userOf), self: self && userOf(self) });
  }
}

/** Returns the fields of a ticket on the wire. */
export function wireTicket(ticket: Ticket): object {
  return defined({
    min_count: ticket.playersMin,
    max_count: ticket.playersMax,
    count_multiple: ticket.playersMultiple,
    query: ticket.query ?? "*",
    string_properties: ticket.strings ?? {},
    numeric_properties: ticket.numbers ?? {},
  });
}

function userOf({ presence, party_id, string_properties, numeric_properties }: WireMatchedUser): MatchedUser {
  return {
    presence: presenceOf(presence),
    partyId: party_id === "" ? undefined : party_id,
    strings: string_properties ?? {},
    numbers: numeric_properties ?? {},
  };
}
