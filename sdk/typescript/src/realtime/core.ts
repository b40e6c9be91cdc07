// Interface between the connection, which carries bytes, and the core, which understands them.
//
// A core implements the protocol and the game: it takes messages and the time, and returns messages to send, events,
// and entities to draw. It reads no clock and opens no connection; `Room` does both.

import type { ErrorCode, RoomCode } from "../error.ts";
import type { Settings, Surroundings } from "./rules.ts";
import type { Encoding, DeliveryOrder } from "./transport/transport.ts";

/** Selects a room: a running one, any of a type, or a new private one, which others join by id or code. */
export type RoomChoice =
  | { readonly id: string }
  | { readonly code: string }
  | { readonly type: { readonly name: string; readonly label?: string } }
  | { readonly newPrivate: { readonly name: string; readonly label?: string } };

/** Texts that the game reads when the player joins. */
export type JoinMetadata = Readonly<Record<string, string>>;

/** Position or velocity in messages that are not declared by a game. */
export interface Vector {
  readonly x: number;
  readonly y: number;
}

/** Server's answer to a join. */
export interface Welcome {
  readonly player: number;
  readonly room: string;
  readonly session: string;
  readonly connection: number;
  readonly roomCode: string;
  /** 0 for a relay. */
  readonly tickHz: number;
  readonly snapshotHz: number;
  readonly serverTick: number;
  readonly world: { readonly min: Vector; readonly max: Vector; readonly interestRadius: number };
  readonly schema: string;
  /** Absent if the room type does not allow resuming. */
  readonly resumeToken?: string;
}

/** Values by field name, of an entity, an input, an event or a command. */
export type Fields = Record<string, unknown>;

/** Values of an entity in one channel. Ids are below 2^48, so a `number` holds them exactly. */
export interface Entity<Values = Fields> {
  readonly id: number;
  readonly fields: Values;
}

/** Phase of a core. "resuming": the connection was lost, and the core rejoins as the same player. */
export type CorePhase = "connecting" | "joined" | "resuming" | "ended";

/** Reason why the server closed a connection. */
export type CloseReason =
  | "unknown"
  | "left"
  | "shutdown"
  | "moved"
  | "room_ended"
  | "room_failed"
  | "session_ended"
  | "replaced"
  | "kicked"
  | "timed_out"
  | "too_slow"
  | "flooded"
  | "protocol_violation"
  | "unauthenticated"
  | (string & {});

/** Status of the server. The first two fields are for everyone, the others need the permission to inspect. */
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

/** Event of a room. */
export type RoomEvent =
  /** The player has joined the room; with `isResumed`, as the same player as before. */
  | { readonly kind: "joined"; readonly welcome: Welcome; readonly isResumed: boolean }
  /** State has arrived; `entered` and `left` list entities that came into view or left it, after their own events. */
  | {
      readonly kind: "snapshot";
      readonly tick: number;
      readonly inputAck: number;
      readonly entered: readonly number[];
      readonly left: readonly number[];
    }
  /**
   * An entity entered the view: it was spawned in sight, or came into sight. After `joined` the view is empty, and
   * everything in sight enters again.
   */
  | { readonly kind: "enter"; readonly tick: number; readonly entity: number }
  /** An entity left the view: it was despawned, or is out of sight. The server does not tell which. */
  | { readonly kind: "leave"; readonly tick: number; readonly entity: number }
  /** The game sent an event: with fields by name, or as bytes in a relay room and where the schema does not know it. */
  | {
      readonly kind: "event";
      readonly tick: number;
      readonly feature: string;
      readonly action: string;
      readonly fields: Fields;
      /** Player who sent it; 0 for the game itself. */
      readonly sender: number;
    }
  | { readonly kind: "message"; readonly tick: number; readonly code: number; readonly bytes: Uint8Array; readonly sender: number }
  /** Another member joined or left the relay room. */
  | { readonly kind: "member"; readonly player: number; readonly isHere: boolean; readonly name: string }
  /** The player now controls this entity. */
  | { readonly kind: "possession"; readonly tick: number; readonly entity: number }
  /** Authoritative position of the player's entity, in a game that lets clients propose movement. */
  | {
      readonly kind: "correction";
      readonly entity: number;
      readonly position: Vector;
      readonly velocity: Vector;
      readonly inputAck: number;
    }
  /** A command was answered; without a code, it succeeded. */
  | { readonly kind: "answer"; readonly seq: number; readonly code?: RoomCode; readonly text?: string }
  /** The server rejected something other than a numbered command. */
  | { readonly kind: "error"; readonly code: RoomCode; readonly text: string }
  | { readonly kind: "manifest"; readonly manifest: Manifest }
  /** The world was cleared. */
  | { readonly kind: "cleared"; readonly tick: number }
  /** The server will close the connection after `deadlineMs` milliseconds. */
  | {
      readonly kind: "closing";
      readonly reason: CloseReason;
      readonly text: string;
      readonly deadlineMs: number;
      readonly mayResume: boolean;
    }
  /** The connection was lost; the room resumes by itself. */
  | { readonly kind: "lost"; readonly text: string }
  /** The room is over: by a close reason, a rejected join, or an error found by the client. */
  | { readonly kind: "ended"; readonly reason: CloseReason | ErrorCode; readonly text: string };

/** Command to the game. */
export type Command =
  /** A `feature.action` with fields by name. */
  | { readonly feature: string; readonly action: string; readonly fields?: Fields }
  /** A message with a numeric code, as in a relay room. */
  | { readonly code: number; readonly bytes: Uint8Array };

export interface CoreStatistics {
  /** Smoothed round trip, without the time the server held pings; undefined before the first pong. */
  readonly roundTripMs: number | undefined;
  readonly jitterMs: number | undefined;
  /** Server's time (its tick divided by its rate) minus the time of `time.nowMs()`; undefined before the first state and pong. */
  readonly clockOffsetMs: number | undefined;
  /** Share of the last 64 state packets that have not arrived, from 0 to 1; 0 over WebSocket, where nothing is lost. */
  readonly loss: number;
  /** Number of the newest input on this connection, and of the newest that the server has applied. */
  readonly inputSeq: number;
  readonly inputAck: number;
  /** Number of inputs that the server has not applied yet. */
  readonly pendingInputs: number;
  /** Number of messages that could not be decoded and were dropped. */
  readonly faults: number;
  /** Number of corrections of the own entity, the distance of the last one, and of the largest one. */
  readonly corrections: number;
  readonly lastCorrectionDistance: number;
  readonly largestCorrectionDistance: number;
  /** Distance between the shown and the predicted position of the own entity, while a correction is smoothed. */
  readonly shownErrorDistance: number;
  /** Delay with which remote entities are shown. */
  readonly interpolationDelayMs: number;
  /** Number of ticks that the prediction is ahead of the newest state. */
  readonly leadTicks: number;
  /** State packets that arrived, that arrived too late to be used, and that are missing of the last 64. */
  readonly packetsReceived: number;
  readonly packetsLate: number;
  readonly packetsMissing: number;
  /** State packets that waited for events of their tick. */
  readonly packetsHeld: number;
}

/** Sends one message; a reliable one in order and without loss. */
export type Send = (bytes: Uint8Array, isReliable: boolean) => void;

/** Core of a client. Times are monotonic milliseconds. */
export interface Core {
  /** Encoding of its messages. */
  readonly encoding: Encoding;
  readonly phase: CorePhase;
  /**
   * Time at which to open a connection; undefined while connected and after the end. A connection that is still open
   * when this is set must be closed.
   */
  readonly retryAtMs: number | undefined;
  readonly welcome: Welcome | undefined;
  /** The entity that the player controls. */
  readonly ownEntity: number | undefined;
  /** Newest tick whose state has arrived. */
  readonly tick: number;
  readonly statistics: CoreStatistics;
  /** Switches for prediction, reconciliation and interpolation. */
  settings: Settings;
  /** Newest state of everything, neither predicted nor interpolated. */
  readonly surroundings: Surroundings;

  /** Handles a new connection. The next `advance` sends the hello. */
  connected(link: DeliveryOrder, nowMs: number): void;
  /** Handles a connection that was lost or could not be opened. */
  disconnected(text: string, nowMs: number): void;
  /** Handles a message from the server. One that cannot be decoded is counted and dropped. */
  receive(bytes: Uint8Array, nowMs: number): void;
  /** Advances to now and sends what is due. May be called any number of times. */
  advance(nowMs: number, send: Send): void;
  /** Returns the events since the last call, in order. */
  takeEvents(): RoomEvent[];

  /** Sets the access token for the next hello. */
  setToken(token: string | undefined): void;
  /** Sets the player's input. It is sent once a tick until it is set again. */
  setInput(input: Fields): void;
  /** Queues a command. Returns its number, which the answer carries, or undefined outside a room. */
  command(command: Command): number | undefined;
  /**
   * Proposes to move the player's entity. The next `advance` sends it. Returns its number, which snapshots and
   * corrections acknowledge, or undefined without an entity.
   */
  moveBy(dx: number, dy: number, nowMs: number): number | undefined;
  /** Leaves for good. The next `advance` sends the leave message. */
  leave(): void;

  /** Entities of a channel as they are drawn now. */
  entities(channel: string, nowMs: number): Iterable<Entity>;
  /** One entity's values in a channel as they are drawn now. */
  entity(channel: string, id: number, nowMs: number): Entity | undefined;
}
