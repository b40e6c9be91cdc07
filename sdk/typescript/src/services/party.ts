// List of parties. They are created and joined over the socket.

import { labelOf } from "./label.ts";
import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf } from "./values.ts";

export interface PartyEntry {
  readonly id: string;
  readonly isOpen: boolean;
  readonly membersMax: number;
  readonly label: JsonObject;
}

export interface PartyPage {
  readonly parties: readonly PartyEntry[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

export interface PartyListOptions extends CallOptions {
  /** Condition such as `+label.game:arena +size:<4`. */
  readonly query?: string;
  /** Only open parties, or only closed ones; both by default. */
  readonly isOpen?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

export class PartyDirectory {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Returns a page of the parties that are not hidden. */
  async list(options: PartyListOptions = {}): Promise<PartyPage> {
    const { query, isOpen: open, limit, cursor } = options;
    const call = { method: "GET", path: "/v2/party", query: { query, open, limit, cursor }, isIdempotent: true } as const;
    const found = await this.session.call<{ parties?: WireEntry[]; cursor?: string }>(call, options);
    return { parties: (found.parties ?? []).map(entryOf), cursor: cursorOf(found.cursor) };
  }
}

interface WireEntry {
  readonly party_id?: string;
  readonly open?: boolean;
  readonly max_size?: number;
  readonly label?: string;
}

function entryOf({ party_id = "", open = false, max_size = 0, label }: WireEntry): PartyEntry {
  return { id: party_id, isOpen: open, membersMax: max_size, label: labelOf(label) };
}
