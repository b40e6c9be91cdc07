// Realtime protocol, version 2, in JSON. See WIRE_FORMAT.md.

import type { RoomCode } from "../../error.ts";
import type { CloseReason, Fields, JoinMetadata, Manifest, RoomChoice, Vector, Welcome } from "../core.ts";

/** Protocol version in every envelope. */
const PROTOCOL_VERSION = 2;

/** Maximum size of a client's message after the hello; the server closes the connection on a longer one. */
export const CLIENT_FRAME_BYTES_MAX = 512;

export interface Hello {
  readonly token?: string;
  readonly room?: RoomChoice;
  readonly resumeToken?: string;
  readonly metadata?: JoinMetadata;
}

export interface Input {
  readonly seq: number;
  readonly keys: Fields;
}

export interface Fragment {
  readonly message: number;
  readonly index: number;
  readonly total: number;
  readonly data: string;
}

/** Messages of the client. */
export type ClientMessage =
  | { readonly kind: "hello"; readonly payload: Hello }
  | { readonly kind: "ping"; readonly clientTime: number; readonly payload: { readonly tick: number } }
  | { readonly kind: "leave" }
  | { readonly kind: "fragment"; readonly payload: Fragment }
  | { readonly kind: "command"; readonly seq?: number; readonly clientTime?: number; readonly feature: string; readonly action: string; readonly payload?: object };

export interface Snapshot {
  readonly tick: number;
  readonly mode: "full" | "delta";
  readonly localAckSeq: number;
  readonly features: Readonly<Record<string, readonly ({ readonly id: number } & Fields)[]>>;
  readonly entered?: readonly number[];
  readonly removed?: readonly number[];
}

export interface GameEvent {
  readonly tick: number;
  readonly fields?: Fields;
  readonly code?: number;
  readonly data?: string;
  readonly sender?: number;
}

export interface Failure {
  readonly code: RoomCode;
  readonly message: string;
}

/** Messages of the server. */
export type ServerMessage =
  | { readonly kind: "welcome"; readonly payload: Welcome }
  | { readonly kind: "snapshot"; readonly payload: Snapshot }
  | { readonly kind: "event"; readonly feature?: string; readonly action?: string; readonly payload: GameEvent }
  | { readonly kind: "possession"; readonly payload: { readonly tick: number; readonly entity: number } }
  | {
      readonly kind: "correction";
      readonly payload: { readonly entity: number; readonly position: Vector; readonly velocity: Vector; readonly ackSeq: number };
    }
  | { readonly kind: "ack"; readonly seq: number; readonly payload: { readonly error?: Failure } }
  | {
      readonly kind: "pong";
      readonly clientTime: number;
      readonly payload: { readonly tick: number; readonly serverTick: number; readonly holdUs: number };
    }
  | { readonly kind: "error"; readonly payload: Failure & { readonly fatal: boolean } }
  | { readonly kind: "manifest"; readonly payload: Manifest }
  | { readonly kind: "cleared"; readonly payload: { readonly tick: number } }
  | { readonly kind: "closing"; readonly payload: Closing }
  | { readonly kind: "fragment"; readonly payload: Fragment }
  /** Not used: JSON needs no schema. */
  | { readonly kind: "schema"; readonly payload: object };

export interface Closing {
  readonly reason: CloseReason;
  readonly text: string;
  readonly deadlineMs: number;
  readonly mayResume: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encode(message: ClientMessage): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify({ v: PROTOCOL_VERSION, ...message }));
}

/** Decodes a message. Throws if it is not one of this version. */
export function decode(bytes: Uint8Array): ServerMessage {
  const envelope = JSON.parse(decoder.decode(bytes)) as { v?: unknown; kind?: unknown; payload?: unknown };
  if (envelope.v !== PROTOCOL_VERSION || typeof envelope.kind !== "string") throw new Error("The message is not of protocol version 2.");
  // A message without fields may leave its payload out.
  envelope.payload ??= {};
  return envelope as ServerMessage;
}
