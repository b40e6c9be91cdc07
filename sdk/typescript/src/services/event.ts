// Events that the game reports to server code.

import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { defined } from "./values.ts";

export interface ClientEvent {
  readonly name: string;
  readonly properties?: Readonly<Record<string, string>>;
  /** Time of the event; now by default. */
  readonly at?: Date;
}

export class Events {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async emit(event: ClientEvent, options?: CallOptions): Promise<void> {
    const body = defined({ name: event.name, properties: event.properties, timestamp: event.at?.toISOString(), external: true });
    await this.session.call({ method: "POST", path: "/v2/event", body }, options);
  }
}
