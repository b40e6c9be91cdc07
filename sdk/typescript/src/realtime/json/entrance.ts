// The way into a room, and back into it after the connection was lost.

import type { RoomCode } from "../../refusal.ts";
import { type Pauses, type Time, pauseMs } from "../../time.ts";
import type { CloseReason, CorePhase, RoomChoice, Welcome } from "../core.ts";
import type { Closing, Hello } from "./protocol.ts";

const PAUSES: Pauses = { firstMs: 200, lastMs: 5_000, spread: 0.3 };

/** Reasons after which coming back at once would only repeat what happened, or is not wanted. */
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

/** What is refused at the door for now, and not for good. */
const PASSING_CODES: readonly RoomCode[] = ["unavailable", "internal", "rate_limited", "unknown"];

/** What is refused of a certain room, where another one of the kind would do. */
const ROOMLESS_CODES: readonly RoomCode[] = ["room_not_found", "room_full", "join_refused"];

export interface End {
  readonly reason: string;
  readonly text: string;
}

export class Entrance {
  phase: CorePhase = "connecting";
  retryAtMs: number | undefined = Number.NEGATIVE_INFINITY;
  token: string | undefined;
  end: End | undefined;
  private readonly room: RoomChoice | undefined;
  private readonly time: Time;
  private resumeToken: string | undefined;
  /** The room that the player was in. Another one of its type is second best. */
  private lastRoom: string | undefined;
  private isResuming = false;
  private closing: Closing | undefined;
  private failures = 0;

  constructor(room: RoomChoice | undefined, time: Time) {
    this.room = room;
    this.time = time;
  }

  /** There is a connection: what to say first. Nothing if it is over. */
  connected(): Hello | undefined {
    if (this.phase === "ended") return undefined;
    this.retryAtMs = undefined;
    this.closing = undefined;
    return this.hello();
  }

  /** The server let the player in. True if it is as who they were. */
  welcomed(welcome: Welcome): boolean {
    const isResumed = this.isResuming;
    this.isResuming = false;
    this.phase = "joined";
    this.resumeToken = welcome.resumeToken;
    this.lastRoom = welcome.room;
    this.failures = 0;
    return isResumed;
  }

  /** The server did not let the player in: what to say instead, if there is something. */
  refused(code: RoomCode, text: string, nowMs: number): Hello | undefined {
    if (PASSING_CODES.includes(code)) {
      this.lost(nowMs);
      return undefined;
    }
    this.resumeToken = undefined;
    if (this.isResuming && code === "resume_refused") {
      this.phase = "connecting";
      return this.hello();
    }
    if (this.lastRoom !== undefined && ROOMLESS_CODES.includes(code)) {
      this.lastRoom = undefined;
      return this.hello();
    }
    this.finish({ reason: code, text });
    return undefined;
  }

  /** The server says that the connection ends. Whether to come back is decided when it has. */
  announced(closing: Closing): void {
    // With a deadline it is a notice, and the connection goes on.
    if (closing.deadlineMs === 0) this.closing = closing;
  }

  /** The connection is gone. */
  lost(nowMs: number): void {
    if (this.phase === "ended") return;
    const { closing } = this;
    this.closing = undefined;
    if (closing !== undefined && isFinal(closing)) return this.finish({ reason: closing.reason, text: closing.text });
    // A server that stops may come back and know its players.
    if (closing !== undefined && !closing.mayResume && closing.reason !== "shutdown") this.resumeToken = undefined;
    this.isResuming = false;
    this.phase = this.resumeToken === undefined ? "connecting" : "resuming";
    this.retryAtMs = nowMs + pauseMs(PAUSES, this.failures, this.time);
    this.failures += 1;
  }

  finish(end: End): void {
    this.end ??= end;
    this.phase = "ended";
    this.retryAtMs = undefined;
    this.resumeToken = undefined;
  }

  /** A resume token is shown until the server answers it. It is good once, but whoever lost the connection before the
   * answer has no other, and the server takes it again from someone it has not heard from since. */
  private hello(): Hello {
    const { resumeToken, token } = this;
    this.isResuming = resumeToken !== undefined;
    if (resumeToken !== undefined) return { resumeToken };
    const room = this.lastRoom === undefined ? this.room : { id: this.lastRoom };
    return { ...(token === undefined ? {} : { token }), ...(room === undefined ? {} : { room }) };
  }
}

function isFinal({ reason, mayResume }: Closing): boolean {
  return FINAL_REASONS.includes(reason) || (reason === "unknown" && !mayResume);
}
