// List of open parties, which is read again every few seconds.

import type { PartyEntry } from "@aether-game/client";
import { visitor } from "../shared/visitor.ts";

/** Polling interval. */
const INTERVAL_MS = 3_000;

/** Parties of this lobby that others may join. */
const QUERY = "+label.game:arena +open:T";

/** Entries that are shown. */
const SHOWN_MAX = 20;

/** A party with room for more players. */
export interface OpenParty {
  readonly id: string;
  readonly leader: string;
  readonly members: number;
  readonly membersMax: number;
}

export class OpenParties {
  /** Undefined before the first answer. */
  list: readonly OpenParty[] | undefined;
  private readonly changed: () => void;

  constructor(changed: () => void) {
    this.changed = changed;
    setInterval(() => {
      // A hidden page does not poll.
      if (!document.hidden) void this.refresh();
    }, INTERVAL_MS);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.refresh();
    });
  }

  async refresh(): Promise<void> {
    try {
      // Nobody may be signed in yet.
      if (visitor().session.identity === undefined) return;
      const { parties } = await visitor().parties.list({ query: QUERY, limit: SHOWN_MAX });
      this.list = parties.map(openPartyOf).filter(({ members, membersMax }) => members < membersMax);
    } catch {
      // The connection shows the error. The list stays as it was.
    }
    this.changed();
  }
}

/** The label is written by another player's page, so it may contain anything. */
function openPartyOf({ id, membersMax, label }: PartyEntry): OpenParty {
  const { leader, members } = label;
  return {
    id,
    leader: typeof leader === "string" ? leader : "",
    members: typeof members === "number" && members >= 1 ? Math.min(members, membersMax) : 1,
    membersMax,
  };
}
