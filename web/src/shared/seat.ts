// A seat in a room of one's own server: taken when the page opens, and again whenever it was lost.

import { type Fields, AetherError, type Room } from "@aether-game/client";

/** How it stands with the seat. */
export type Phase =
  | { readonly name: "connecting"; readonly text: string }
  | { readonly name: "playing" }
  /** Lost; it is tried again by itself. */
  | { readonly name: "waiting"; readonly text: string }
  /** Over, until someone asks for it again. */
  | { readonly name: "ended"; readonly text: string };

/** What a seat tells. */
export interface SeatEvents<Input extends object> {
  phase(phase: Phase): void;
  /** There is a new room to listen to. What it tells about its connection is looked after here. */
  room?(room: Room<Input>): void;
}

/** Pauses between attempts to join; the last one goes on for as long as it takes. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];

/** What ended a room though another one may be had. */
const PASSING_REASONS: readonly string[] = ["room_ended", "room_failed", "shutdown", "moved", "timed_out", "unavailable", "unreachable", "disconnected"];

/** What joining again would not change. */
const HOPELESS_CODES: readonly string[] = ["unsupported", "signed_out", "version_mismatch", "forbidden"];

export class Seat<Input extends object = Fields> {
  room: Room<Input> | undefined;
  phase: Phase = { name: "connecting", text: "Looking for the server…" };
  /** How often the player came back after the connection was lost. */
  returns = 0;
  private readonly join: () => Promise<Room<Input>>;
  private readonly events: SeatEvents<Input>;
  private attempt = 0;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(join: () => Promise<Room<Input>>, events: SeatEvents<Input>) {
    this.join = join;
    this.events = events;
    // Whoever closes the page does not come back to it.
    addEventListener("pagehide", () => void this.room?.leave());
    addEventListener("pageshow", (event) => event.persisted && this.take());
  }

  /** Takes a seat; gives up the one that is there. */
  take(): void {
    clearTimeout(this.retry);
    this.attempt += 1;
    void this.room?.leave();
    this.room = undefined;
    this.enter({ name: "connecting", text: "Joining a room…" });
    void this.tryOnce(this.attempt);
  }

  /** Someone wants to play now: does not wait for the next attempt. */
  hurry(): void {
    if (this.room === undefined || this.phase.name === "ended") this.take();
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
      this.returns += 1;
      this.enter({ name: "playing" });
    });
    room.on("lost", ({ text }) => this.enter({ name: "waiting", text }));
    room.on("ended", ({ reason, text }) => {
      if (room !== this.room) return;
      this.room = undefined;
      if (PASSING_REASONS.includes(reason)) this.failed(new AetherError(reason, text));
      else this.enter({ name: "ended", text });
    });
  }

  private failed(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (isHopeless(error)) return this.enter({ name: "ended", text });
    const pause = PAUSES_MS[Math.min(this.failures, PAUSES_MS.length - 1)] as number;
    this.failures += 1;
    this.enter({ name: "waiting", text });
    this.retry = setTimeout(() => this.take(), pause);
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.events.phase(phase);
  }
}

function isHopeless(error: unknown): boolean {
  return error instanceof AetherError && (error.status === 401 || error.status === 403 || HOPELESS_CODES.includes(error.code));
}
