// What every transport does for a connection.

/** The transports that a page can use. */
export type TransportKind = "websocket" | "webtransport";

/** What a transport reports. */
export interface TransportEvents {
  /** One message, and how many bytes it took. */
  message(text: string, bytes: number): void;
  /** It is over, once, whoever ended it. */
  closed(why: string): void;
}

/** An open transport. */
export interface Transport {
  readonly kind: TransportKind;
  /** Whether messages may be lost on the unreliable path, so that inputs are worth repeating. */
  readonly unreliable: boolean;
  /** Sends in order and without loss; returns the bytes it takes. */
  sendReliable(text: string): number;
  /** Sends on the unreliable path where there is one; returns the bytes it takes. */
  sendUnreliable(text: string): number;
  close(): void;
}

/** How a transport is opened. It rejects when it cannot be. */
export type Open = (events: TransportEvents) => Promise<Transport>;
