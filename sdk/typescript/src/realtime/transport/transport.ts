// What every transport does for a connection: it carries messages, each a few bytes, in both directions.

/** How messages are written. */
export type Encoding = "json" | "protobuf";

export type TransportKind = "websocket" | "webtransport";

/** Whether what is sent unreliably arrives in order and whole, or may be lost and overtaken. */
export type Link = "ordered" | "unordered";

/** How a transport ended. */
export interface TransportEnd {
  /** The close code that came; absent when the connection just broke. */
  readonly code: number | undefined;
  /** A sentence for people. */
  readonly text: string;
}

/** What a transport reports. */
export interface TransportEvents {
  /** One message. The bytes are the receiver's to keep. It came in order and without loss, unless it is said. */
  message(bytes: Uint8Array, isReliable?: boolean): void;
  /** It is over, once, whoever ended it. */
  closed(end: TransportEnd): void;
}

/** An open transport. */
export interface Transport {
  readonly kind: TransportKind;
  readonly link: Link;
  /** Bytes that were handed over and have not left yet. */
  readonly waitingBytes: number;
  /** Sends in order and without loss. When far too much waits already, the transport ends instead. */
  sendReliable(bytes: Uint8Array): void;
  /** Sends on the unreliable path where there is one. What cannot leave soon is left out: newer things will be said. */
  sendUnreliable(bytes: Uint8Array): void;
  /** Ends it. `closed` is still reported. */
  close(text?: string): void;
}

/** How a transport is opened. It rejects when it cannot be, or when the signal ends it. */
export type OpenTransport = (encoding: Encoding, events: TransportEvents, signal: AbortSignal) => Promise<Transport>;

/** With more than this waiting, what may be lost is not sent: the newest alone would matter. */
export const UNRELIABLE_WAITING_BYTES_MAX = 65_536;

/** With more than this waiting, the other side takes nothing any more: half a minute of the most that a client may say. */
export const RELIABLE_WAITING_BYTES_MAX = 1_048_576;

/** The longest message that a server sends: JSON. */
export const MESSAGE_BYTES_MAX = 1_048_576;

export const LOST: TransportEnd = { code: undefined, text: "The connection was lost." };
export const STUCK: TransportEnd = { code: undefined, text: "The server takes nothing any more." };
