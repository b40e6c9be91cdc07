// Interface of a transport, which carries whole messages in both directions.

/** Encoding of messages. */
export type Encoding = "json" | "protobuf";

export type TransportKind = "websocket" | "webtransport";

/** Delivery of messages sent unreliably: in order and complete, or possibly lost and reordered. */
export type DeliveryOrder = "ordered" | "unordered";

/** End of a transport. */
export interface TransportEnd {
  /** Close code; absent if the connection broke. */
  readonly code: number | undefined;
  /** Human-readable sentence. */
  readonly text: string;
}

/** Callbacks of a transport. */
export interface TransportEvents {
  /** Receives one message; the receiver owns the bytes. It came reliably unless `isReliable` is false. */
  message(bytes: Uint8Array, isReliable?: boolean): void;
  /** Called once at the end, whichever side caused it. */
  closed(end: TransportEnd): void;
}

/** An open transport. */
export interface Transport {
  readonly kind: TransportKind;
  readonly link: DeliveryOrder;
  /** Bytes that were queued and not sent yet. */
  readonly waitingBytes: number;
  /** Sends in order and without loss. Closes the transport if too many bytes are queued. */
  sendReliable(bytes: Uint8Array): void;
  /** Sends unreliably where possible. Drops the message if it cannot be sent soon, because a newer one will follow. */
  sendUnreliable(bytes: Uint8Array): void;
  /** Closes the transport. `closed` is still called. */
  close(text?: string): void;
}

/** Opens a transport. Rejects if that fails or the signal aborts. */
export type OpenTransport = (encoding: Encoding, events: TransportEvents, signal: AbortSignal) => Promise<Transport>;

/** Above this many queued bytes, unreliable messages are dropped: only the newest would matter. */
export const UNRELIABLE_WAITING_BYTES_MAX = 65_536;

/**
 * Above this many queued bytes the connection is considered stuck: half a minute of the most that a client may send.
 */
export const RELIABLE_WAITING_BYTES_MAX = 1_048_576;

/** Longest message that a server sends, which is JSON. */
export const MESSAGE_BYTES_MAX = 1_048_576;

export const LOST: TransportEnd = { code: undefined, text: "The connection was lost." };
export const STUCK: TransportEnd = { code: undefined, text: "The server stopped reading." };
