// The realtime protocol, version 2, in its JSON encoding. WIRE_FORMAT.md is the text it follows.

/** The version that every envelope carries. */
export const PROTOCOL_VERSION = 2;

/** The WebSocket subprotocol of the JSON encoding. */
export const SUBPROTOCOL = "aether.v2.json";

/** The most bytes of a client's frame after the hello; the server closes on a longer one. */
export const CLIENT_FRAME_BYTES_MAX = 512;

/** The most bytes of a message from the server. */
export const SERVER_MESSAGE_BYTES_MAX = 1_048_576;

/** A place or a speed in messages that are not a game's own. */
export interface Vector {
  readonly x: number;
  readonly y: number;
}

/** Which room is meant: a running one, or any of a type. */
export type RoomChoice =
  | { readonly id: string }
  | { readonly code: string }
  | { readonly type: { readonly name: string; readonly label?: string } };

export interface Hello {
  readonly token?: string;
  readonly room?: RoomChoice;
  readonly resumeToken?: string;
  readonly schema?: string;
}

/** What the player holds down; the sandbox's own input. */
export interface Keys {
  readonly thrust: boolean;
  readonly left: boolean;
  readonly right: boolean;
  readonly fire: boolean;
}

export interface Input {
  readonly seq: number;
  readonly keys: Keys;
}

/** What the playground can spawn. */
export type ThingKind = "crate" | "rock" | "beacon";

/** Everything this page says to the server. */
export type ClientMessage =
  | { readonly v: 2; readonly kind: "hello"; readonly payload: Hello }
  | { readonly v: 2; readonly kind: "ping"; readonly clientTime: number; readonly payload: { readonly tick: number } }
  | { readonly v: 2; readonly kind: "leave" }
  | Command<"movement", "input_batch", { readonly inputs: readonly Input[]; readonly viewTick: number }>
  | Command<"playground", "spawn", SpawnPayload>
  | Command<"playground", "stress", { readonly count: number; readonly rotate: boolean }>
  | Command<"playground", "clear", undefined>
  | Command<"system", "manifest", undefined>;

export interface SpawnPayload {
  readonly kind: ThingKind;
  readonly x: number;
  readonly y: number;
  readonly rotation: number;
}

/** A `feature.action`; with a `seq` it is answered by an ack. */
interface Command<Feature extends string, Action extends string, Payload> {
  readonly v: 2;
  readonly kind: "command";
  readonly seq?: number;
  readonly feature: Feature;
  readonly action: Action;
  readonly payload?: Payload;
}

export interface WorldShape {
  readonly min: Vector;
  readonly max: Vector;
  readonly interestRadius: number;
}

export interface Welcome {
  readonly player: number;
  readonly room: string;
  readonly session: string;
  readonly connection: number;
  readonly roomCode: string;
  readonly tickHz: number;
  readonly snapshotHz: number;
  readonly serverTick: number;
  readonly world: WorldShape;
  readonly schema: string;
  /** Absent where rooms do not let players come back. */
  readonly resumeToken?: string;
}

/** A pair of coordinates, as the game's components carry them. */
export type Pair = readonly [number, number];

export interface ShipFields {
  readonly id: number;
  readonly position?: Pair;
  readonly velocity?: Pair;
  readonly heading?: number;
  readonly hull?: number;
  readonly colour?: number;
}

export interface ThingFields {
  readonly id: number;
  readonly position?: Pair;
  readonly rotation?: number;
  readonly look?: string;
}

export interface ShotFields {
  readonly id: number;
  readonly position?: Pair;
  readonly velocity?: Pair;
}

export interface ScoreboardFields {
  readonly id: number;
  readonly leader?: string;
  readonly hits?: number;
  readonly players?: number;
}

/** The sandbox's state as one player may see it; entities carry the fields that are known to have changed. */
export interface Snapshot {
  readonly tick: number;
  readonly mode: "full" | "delta";
  readonly localAckSeq: number;
  readonly features: {
    readonly movement?: readonly ShipFields[];
    readonly things?: readonly ThingFields[];
    readonly projectile?: readonly ShotFields[];
    readonly presence?: readonly ScoreboardFields[];
  };
  readonly removed: readonly number[];
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The first two are for everyone, the others for those who may inspect. */
export interface Manifest {
  readonly version_server: string;
  readonly version_protocol: number;
  readonly tick_rate?: number;
  readonly tick_us?: number;
  readonly clients_active?: number;
  readonly rooms_active?: number;
  readonly entities_active?: number;
  readonly uptime_s?: number;
}

export interface Closing {
  readonly reason: string;
  readonly text: string;
  readonly deadlineMs: number;
  readonly mayResume: boolean;
}

export interface Fragment {
  readonly message: number;
  readonly index: number;
  readonly total: number;
  readonly data: string;
}

/** Everything the server says. */
export type ServerMessage =
  | { readonly kind: "welcome"; readonly payload: Welcome }
  | { readonly kind: "snapshot"; readonly payload: Snapshot }
  | {
      readonly kind: "event";
      readonly feature?: string;
      readonly action?: string;
      readonly payload: { readonly tick: number; readonly fields?: Readonly<Record<string, unknown>> };
    }
  | { readonly kind: "possession"; readonly payload: { readonly tick: number; readonly entity: number } }
  | { readonly kind: "correction"; readonly payload: { readonly entity: number; readonly position: Vector } }
  | { readonly kind: "ack"; readonly seq: number; readonly payload: { readonly error?: Failure } }
  | {
      readonly kind: "pong";
      readonly clientTime: number;
      readonly payload: { readonly tick: number; readonly serverTick: number; readonly holdUs: number };
    }
  | { readonly kind: "error"; readonly payload: Failure & { readonly fatal: boolean } }
  | { readonly kind: "interest_enter"; readonly payload: { readonly tick: number; readonly entities: readonly number[] } }
  | { readonly kind: "interest_leave"; readonly payload: { readonly tick: number; readonly entities: readonly number[] } }
  | { readonly kind: "manifest"; readonly payload: Manifest }
  | { readonly kind: "schema"; readonly payload: { readonly data: string } }
  | { readonly kind: "cleared"; readonly payload: { readonly tick: number } }
  | { readonly kind: "closing"; readonly payload: Closing }
  | { readonly kind: "fragment"; readonly payload: Fragment };

/** The text of a message. */
export function encode(message: ClientMessage): string {
  return JSON.stringify(message);
}

/** The message of a text, or nothing if it is none of this version. */
export function decode(text: string): ServerMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const envelope = value as { v?: unknown; kind?: unknown; payload?: unknown };
  if (envelope.v !== PROTOCOL_VERSION || typeof envelope.kind !== "string") return undefined;
  // A message without fields may leave its payload out.
  envelope.payload ??= {};
  return value as ServerMessage;
}

/** Close reasons, in words for people. */
const REASONS: Readonly<Record<string, string>> = {
  left: "You left the room.",
  shutdown: "The server is stopping.",
  moved: "The room is moving to another server.",
  room_ended: "The room has ended.",
  room_failed: "The room has failed.",
  session_ended: "Your session has ended.",
  replaced: "You connected from somewhere else.",
  kicked: "You were removed from the room.",
  timed_out: "The server heard nothing from this page for too long.",
  too_slow: "This connection is too slow for the room.",
  flooded: "This page sent too much.",
  protocol_violation: "The server did not understand this page.",
  unauthenticated: "The server did not accept the login.",
};

/** What a close reason means; the server's own words come first if it has any. */
export function reasonText(closing: Closing): string {
  return closing.text !== "" ? closing.text : (REASONS[closing.reason] ?? "The server closed the connection.");
}

/** Whether coming back at once would only repeat what happened. */
export function isFinal(reason: string): boolean {
  return reason === "replaced" || reason === "kicked" || reason === "protocol_violation";
}
