// Connection of the page to a room: joins when the page opens, and rejoins when the room is lost.

import { type Fields, AetherError, type Room } from "@aether-game/client";

/** Phase of the connection. */
export type Phase =
  | { readonly name: "connecting"; readonly text: string }
  | { readonly name: "playing" }
  /** The connection was lost; the next attempt is scheduled. */
  | { readonly name: "waiting"; readonly text: string }
  /** The connection is over until the player asks for a new one. */
  | { readonly name: "ended"; readonly text: string };

/** Events of the connection. */
export interface ConnectionEvents<Input extends object> {
  phase(phase: Phase): void;
  /** A new room was joined. Its connection events are handled here. */
  room?(room: Room<Input>): void;
}

/** Pauses between attempts to join; the last one repeats. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];

/** End reasons after which another room can be joined. */
const TEMPORARY_REASONS: readonly string[] = ["room_ended", "room_failed", "shutdown", "moved", "timed_out", "unavailable", "unreachable", "disconnected"];

/** Error codes that another attempt would not change. */
const PERMANENT_CODES: readonly string[] = ["unsupported", "signed_out", "version_mismatch", "forbidden"];

export class RoomConnection<Input extends object = Fields> {
  room: Room<Input> | undefined;
  phase: Phase = { name: "connecting", text: "Connecting to the server…" };
  /** Number of reconnects after a lost connection. */
  reconnects = 0;
  private readonly join: () => Promise<Room<Input>>;
  private readonly events: ConnectionEvents<Input>;
  private attempt = 0;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(join: () => Promise<Room<Input>>, events: ConnectionEvents<Input>) {
    this.join = join;
    this.events = events;
    // A closed page does not resume.
    addEventListener("pagehide", () => void this.room?.leave());
    addEventListener("pageshow", (event) => event.persisted && this.connect());
  }

  /** Joins a room, leaving the current one. */
  connect(): void {
    clearTimeout(this.retry);
    this.attempt += 1;
    void this.room?.leave();
    this.room = undefined;
    this.enter({ name: "connecting", text: "Joining a room…" });
    void this.tryOnce(this.attempt);
  }

  /** Retries at once instead of waiting for the next attempt. */
  retryNow(): void {
    if (this.room === undefined || this.phase.name === "ended") this.connect();
    else if (this.phase.name === "waiting") this.room.reconnect();
  }

  private async tryOnce(attempt: number): Promise<void> {
    try {
      const room = await this.join();
      if (attempt !== this.attempt) return void room.leave();
      this.failures = 0;
      this.room = room;
      this.listen(room);
      this.events.room?.(room);
      this.enter({ name: "playing" });
    } catch (error) {
      if (attempt === this.attempt) this.failed(error);
    }
  }

  private listen(room: Room<Input>): void {
    room.on("joined", () => {
      this.reconnects += 1;
      this.enter({ name: "playing" });
    });
    room.on("lost", ({ text }) => this.enter({ name: "waiting", text }));
    room.on("ended", ({ reason, text }) => {
      if (room !== this.room) return;
      this.room = undefined;
      if (TEMPORARY_REASONS.includes(reason)) this.failed(new AetherError(reason, text));
      else this.enter({ name: "ended", text });
    });
  }

  private failed(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (isPermanent(error)) return this.enter({ name: "ended", text });
    const pause = PAUSES_MS[Math.min(this.failures, PAUSES_MS.length - 1)] as number;
    this.failures += 1;
    this.enter({ name: "waiting", text });
    this.retry = setTimeout(() => this.connect(), pause);
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.events.phase(phase);
  }
}

function isPermanent(error: unknown): boolean {
  return error instanceof AetherError && (error.status === 401 || error.status === 403 || PERMANENT_CODES.includes(error.code));
}
