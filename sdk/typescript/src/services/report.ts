// Reports of players to the moderators.

import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { defined } from "./values.ts";

export interface NewReport {
  /** Id of the reported player. */
  readonly userId: string;
  /** Category that the game chooses, such as `harassment`: letters, digits, hyphens and underscores. */
  readonly category: string;
  /** Words of the player: up to 2,048 bytes. */
  readonly text?: string;
  /** Chat channel that the report is about. */
  readonly channelId?: string;
  /** Messages of the channel, up to 10. Their texts are copied into the report. */
  readonly messageIds?: readonly string[];
  /** Match that the report is about. */
  readonly matchId?: string;
}

export interface FiledReport {
  readonly id: string;
  /** False if the open report about this player is full, so that nothing was added to it. */
  readonly isAdded: boolean;
}

export class Reports {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Reports a player. While a report about the player is open, later ones are added to it. */
  async file(report: NewReport, options?: CallOptions): Promise<FiledReport> {
    const { userId: user_id, category, text, channelId: channel_id, messageIds: message_ids, matchId: match_id } = report;
    const body = defined({ user_id, category, text, channel_id, message_ids, match_id });
    const { id, added = false } = await this.session.call<{ id: string; added?: boolean }>({ method: "POST", path: "/v2/report", body }, options);
    return { id, isAdded: added };
  }
}
