// Members of a party or a match, by session.

import { type Presence, type WireChange, presencesOf } from "./wire.ts";

/** Presences that joined and left. */
export interface Change {
  readonly joins: readonly Presence[];
  readonly leaves: readonly Presence[];
}

/** Returns a change of the server. */
export function changeOf({ joins, leaves }: WireChange): Change {
  return { joins: presencesOf(joins), leaves: presencesOf(leaves) };
}

export class Members {
  private bySession: ReadonlyMap<string, Presence>;

  constructor(presences: readonly Presence[] = []) {
    this.bySession = indexed(presences);
  }

  get list(): readonly Presence[] {
    return [...this.bySession.values()];
  }

  /** Applies a change: a presence in both lists has changed. Returns what was not known before. */
  apply({ joins, leaves }: Change): Change {
    const before = this.bySession;
    const next = new Map(before);
    for (const { sessionId } of leaves) next.delete(sessionId);
    for (const presence of joins) next.set(presence.sessionId, presence);
    this.bySession = next;
    return { joins: joins.filter((each) => !isSame(each, before)), leaves: leaves.filter(({ sessionId }) => before.has(sessionId)) };
  }

  /** Replaces all members. Returns the difference. */
  replace(presences: readonly Presence[]): Change {
    const before = this.bySession;
    const next = indexed(presences);
    this.bySession = next;
    return { joins: presences.filter((each) => !isSame(each, before)), leaves: [...before.values()].filter((each) => !isSame(each, next)) };
  }
}

/** Returns whether a change has contents. */
export function isChange({ joins, leaves }: Change): boolean {
  return joins.length > 0 || leaves.length > 0;
}

/** Returns whether the members contain a presence with the same status. */
function isSame({ sessionId, status }: Presence, members: ReadonlyMap<string, Presence>): boolean {
  const found = members.get(sessionId);
  return found !== undefined && found.status === status;
}

function indexed(presences: readonly Presence[]): ReadonlyMap<string, Presence> {
  return new Map(presences.map((presence) => [presence.sessionId, presence]));
}
