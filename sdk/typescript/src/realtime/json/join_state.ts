// State of joining a room, and of resuming after a lost connection.

import type { RoomCode } from "../../error.ts";
import { type Backoff, type Time, pauseMs } from "../../time.ts";
import type { CloseReason, CorePhase, JoinMetadata, RoomChoice, Welcome } from "../core.ts";
import type { Closing, Hello } from "./protocol.ts";

const BACKOFF: Backoff = { firstMs: 200, lastMs: 5_000, spread: 0.3 };

/** Close reasons after which a reconnect would repeat the problem or is not wanted. */
const FINAL_REASONS: readonly CloseReason[] = [
  "left",
  "room_ended",
  "room_failed",
  "session_ended",
  "replaced",
  "kicked",
  "protocol_violation",
  "unauthenticated",
];

/** Codes of a rejected join that are temporary. */
const TEMPORARY_CODES: readonly RoomCode[] = ["unavailable", "internal", "rate_limited", "unknown"];

/** Codes about one room, where another room of the type would do. */
const OTHER_ROOM_CODES: readonly RoomCode[] = ["room_not_found", "room_full", "join_refused"];

export interface End {
  readonly reason: string;
  readonly text: string;
}

export class JoinState {
  phase: CorePhase = "connecting";
  retryAtMs: number | undefined = Number.NEGATIVE_INFINITY;
  token: string | undefined;
  end: End | undefined;
  private readonly room: RoomChoice | undefined;
  private readonly metadata: JoinMetadata;
  private readonly time: Time;
  private resumeToken: string | undefined;
  /** Room that the player was in. Another one of its type is second best. */
  private lastRoom: string | undefined;
  private isResuming = false;
  private closing: Closing | undefined;
  private failures = 0;

  constructor(room: RoomChoice | undefined, metadata: JoinMetadata, time: Time) {
    this.room = room;
    this.metadata = metadata;
    this.time = time;
  }

  /** Handles a new connection. Returns the hello, or undefined after the end. */
  connected(): Hello | undefined {
    if (this.phase === "ended") return undefined;
    this.retryAtMs = undefined;
    this.closing = undefined;
    return this.hello();
  }

  /** Handles a welcome. Returns true if the player was resumed. */
  welcomed(welcome: Welcome): boolean {
    const isResumed = this.isResuming;
    this.isResuming = false;
    this.phase = "joined";
    this.resumeToken = welcome.resumeToken;
    this.lastRoom = welcome.room;
    this.failures = 0;
    return isResumed;
  }

  /** Handles a rejected hello. Returns another hello to try, if there is one. */
  refused(code: RoomCode, text: string, nowMs: number): Hello | undefined {
    if (TEMPORARY_CODES.includes(code)) {
      this.lost(nowMs);
      return undefined;
    }
    this.resumeToken = undefined;
    if (this.isResuming && code === "resume_refused") {
      this.phase = "connecting";
      return this.hello();
    }
    if (this.lastRoom !== undefined && OTHER_ROOM_CODES.includes(code)) {
      this.lastRoom = undefined;
      return this.hello();
    }
    this.finish({ reason: code, text });
    return undefined;
  }

  /** Handles the server's closing message. `lost` decides whether to reconnect. */
  announced(closing: Closing): void {
    // With a deadline it is an announcement, and the connection stays open for now.
    if (closing.deadlineMs === 0) this.closing = closing;
  }

  /** Handles a lost connection. */
  lost(nowMs: number): void {
    if (this.phase === "ended") return;
    const { closing } = this;
    this.closing = undefined;
    if (closing !== undefined && isFinal(closing)) return this.finish({ reason: closing.reason, text: closing.text });
    // A server that shuts down may restart and still know its players.
    if (closing !== undefined && !closing.mayResume && closing.reason !== "shutdown") this.resumeToken = undefined;
    this.isResuming = false;
    this.phase = this.resumeToken === undefined ? "connecting" : "resuming";
    this.retryAtMs = nowMs + pauseMs(BACKOFF, this.failures, this.time);
    this.failures += 1;
  }

  finish(end: End): void {
    this.end ??= end;
    this.phase = "ended";
    this.retryAtMs = undefined;
    this.resumeToken = undefined;
  }

  /**
   * Builds the hello. A resume token is used until the server answers. It is valid once, but the server accepts it
   * again while it has received nothing from the client since.
   */
  private hello(): Hello {
    const { resumeToken, token, metadata } = this;
    this.isResuming = resumeToken !== undefined;
    if (resumeToken !== undefined) return { resumeToken };
    const room = this.lastRoom === undefined ? this.room : { id: this.lastRoom };
    return {
      ...(token === undefined ? {} : { token }),
      ...(room === undefined ? {} : { room }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    };
  }
}

function isFinal({ reason, mayResume }: Closing): boolean {
  return FINAL_REASONS.includes(reason) || (reason === "unknown" && !mayResume);
}
