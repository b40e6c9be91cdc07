// The seam between what carries bytes and what understands them.
//
// A core knows the protocol and the game: it is fed messages and the time, and gives back messages to send, what
// happened and what to draw. It reads no clock and opens no connection; a `Room` stands around it.

import type { RefusalCode, RoomCode } from "../refusal.ts";
import type { Settings, Surroundings } from "./rules.ts";
import type { Encoding, Link } from "./transport/transport.ts";

/** Which room is meant: a running one, or any of a type. */
export type RoomChoice =
  | { readonly id: string }
  | { readonly code: string }
  | { readonly type: { readonly name: string; readonly label?: string } };

/** A place or a speed in messages that are not a game's own. */
export interface Vector {
  readonly x: number;
  readonly y: number;
}

/** What the server says of a room when it lets a player in. */
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
  /** Absent where rooms do not let players come back. */
  readonly resumeToken?: string;
}

/** Values by name, of an entity, an input, an event or a command. */
export type Fields = Record<string, unknown>;

/** An entity's values in one channel. Its id is below 2^48, so a number holds it exactly. */
export interface Entity<Values = Fields> {
  readonly id: number;
  readonly fields: Values;
}

/** Where a core stands. "resuming": the connection was lost, and it comes back as the same player. */
export type CorePhase = "connecting" | "joined" | "resuming" | "ended";

/** Why the server ends a connection. */
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

/** What the server tells of itself; the first two are for everyone, the others for those who may inspect. */
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

/** What happened in a room. */
export type RoomEvent =
  /** The player is in the room; `isResumed` as who they were before. */
  | { readonly kind: "joined"; readonly welcome: Welcome; readonly isResumed: boolean }
  /** State has arrived; `entered` and `left` tell what came into view and is out of it. */
  | {
      readonly kind: "snapshot";
      readonly tick: number;
      readonly inputAck: number;
      readonly entered: readonly number[];
      readonly left: readonly number[];
    }
  /** Something happened in the game, with its fields by name, or, in a relay room or unknown to the schema, as bytes. */
  | {
      readonly kind: "event";
      readonly tick: number;
      readonly feature: string;
      readonly action: string;
      readonly fields: Fields;
      /** The player who said it; 0 for the game itself. */
      readonly sender: number;
    }
  | { readonly kind: "message"; readonly tick: number; readonly code: number; readonly bytes: Uint8Array; readonly sender: number }
  /** Another member of a relay room is there, or gone. */
  | { readonly kind: "member"; readonly player: number; readonly isHere: boolean; readonly name: string }
  /** The player now steers this entity. */
  | { readonly kind: "possession"; readonly tick: number; readonly entity: number }
  /** Where the player's entity really is, in a game that lets clients propose movement. */
  | {
      readonly kind: "correction";
      readonly entity: number;
      readonly position: Vector;
      readonly velocity: Vector;
      readonly inputAck: number;
    }
  /** A command was answered; without a code, it was done. */
  | { readonly kind: "answer"; readonly seq: number; readonly code?: RoomCode; readonly text?: string }
  /** Something was refused that is no numbered command. */
  | { readonly kind: "error"; readonly code: RoomCode; readonly text: string }
  | { readonly kind: "manifest"; readonly manifest: Manifest }
  /** The world was cleared. */
  | { readonly kind: "cleared"; readonly tick: number }
  /** The server will end the connection after so many milliseconds. */
  | {
      readonly kind: "closing";
      readonly reason: CloseReason;
      readonly text: string;
      readonly deadlineMs: number;
      readonly mayResume: boolean;
    }
  /** The connection was lost; the room comes back by itself. */
  | { readonly kind: "lost"; readonly text: string }
  /** It is over: by a close reason, by what was refused at the door, or by what was found here. */
  | { readonly kind: "ended"; readonly reason: CloseReason | RefusalCode; readonly text: string };

/** What to say to the game. */
export type Command =
  /** A `feature.action` with its fields by name. */
  | { readonly feature: string; readonly action: string; readonly fields?: Fields }
  /** A message by its code, as in a relay room. */
  | { readonly code: number; readonly bytes: Uint8Array };

export interface CoreStatistics {
  /** The mean round trip, without what the server held pings for; nothing before the first pong. */
  readonly roundTripMs: number | undefined;
  readonly jitterMs: number | undefined;
  /** The newest input's number on this connection, and the newest that the server has applied. */
  readonly inputSeq: number;
  readonly inputAck: number;
  /** Inputs that the server has not applied yet. */
  readonly pendingInputs: number;
  /** Messages that could not be read; they are dropped. */
  readonly faults: number;
  /** How often the prediction of the own entity was put right, by how far the last time, and by how far at most. */
  readonly corrections: number;
  readonly lastCorrectionDistance: number;
  readonly largestCorrectionDistance: number;
  /** How far the own entity is shown from where it is predicted, while a correction fades. */
  readonly shownErrorDistance: number;
  /** How far in the past others are shown. */
  readonly interpolationDelayMs: number;
  /** How many ticks the prediction is ahead of the state that arrives. */
  readonly leadTicks: number;
  /** State packets that arrived, that came too late to be of use, and that are missing of the last 64. */
  readonly packetsReceived: number;
  readonly packetsLate: number;
  readonly packetsMissing: number;
}

/** Sends one message, in order and without loss if it is reliable. */
export type Send = (bytes: Uint8Array, isReliable: boolean) => void;

/** What a core offers. Times are milliseconds on a clock that never goes back. */
export interface Core {
  /** In which encoding it wants its messages. */
  readonly encoding: Encoding;
  readonly phase: CorePhase;
  /** When to open a connection; nothing while there is one, and when it is over. A connection that is still there when
   * this gives a time is to be closed. */
  readonly retryAtMs: number | undefined;
  readonly welcome: Welcome | undefined;
  /** The entity that the player steers. */
  readonly ownEntity: number | undefined;
  /** The newest tick whose state has arrived. */
  readonly tick: number;
  readonly statistics: CoreStatistics;
  /** What is shown. */
  settings: Settings;
  /** The newest state of everything, neither predicted nor between two states. */
  readonly surroundings: Surroundings;

  /** There is a connection: the hello goes out with the next `advance`. */
  connected(link: Link, nowMs: number): void;
  /** The connection is gone, or could not be opened. */
  disconnected(text: string, nowMs: number): void;
  /** Takes in a message from the server. One that cannot be read is counted and dropped. */
  receive(bytes: Uint8Array, nowMs: number): void;
  /** Goes on to now: sends what is due. It may be called as often as one likes. */
  advance(nowMs: number, send: Send): void;
  /** What happened since the last time, in order. */
  takeEvents(): RoomEvent[];

  /** A new access token, for the next hello that needs one. */
  setToken(token: string | undefined): void;
  /** What the player does from now on, one input a tick, until it is set again. */
  setInput(input: Fields): void;
  /** Says something; its number, which the answer carries. Nothing outside of a room. */
  command(command: Command): number | undefined;
  /** Leaves for good. What the next `advance` sends still has to be sent. */
  leave(): void;

  /** The entities of a channel as they are to be drawn now. */
  entities(channel: string, nowMs: number): Iterable<Entity>;
  /** One entity's values in a channel as they are to be drawn now. */
  entity(channel: string, id: number, nowMs: number): Entity | undefined;
}
