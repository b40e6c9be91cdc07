// Detects a dead connection, also on a page that was suspended.

/** Time limits of a connection. */
export interface LivenessLimits {
  /** Silence for this long means that the connection is dead. */
  readonly silenceMsMax: number;
  /** Upper bound of the silence counted between two checks: a suspended page received nothing, which proves nothing. */
  readonly checkMsMax: number;
}

/** Limits of a room, which sends two pings a second. */
const ROOM_LIMITS: LivenessLimits = { silenceMsMax: 6_000, checkMsMax: 1_000 };

/** Time limit for an answer after the page became visible again. */
export const PROBE_MS = 2_000;

export class Liveness {
  private readonly limits: LivenessLimits;
  private silentMs = 0;
  private checkedMs = 0;

  constructor(limits = ROOM_LIMITS) {
    this.limits = limits;
  }

  /** Handles a received message. */
  received(nowMs: number): void {
    this.silentMs = 0;
    this.checkedMs = nowMs;
  }

  /** Handles a page that is visible again: the server must answer soon. */
  probe(nowMs: number): void {
    this.silentMs = Math.max(this.silentMs, this.limits.silenceMsMax - PROBE_MS);
    this.checkedMs = nowMs;
  }

  isDead(nowMs: number): boolean {
    this.silentMs += Math.min(Math.max(0, nowMs - this.checkedMs), this.limits.checkMsMax);
    this.checkedMs = nowMs;
    return this.silentMs > this.limits.silenceMsMax;
  }
}
