// One player's game: watching, playing, being eaten, and playing again.

import type { Room } from "@aether-game/client";
import { visitor } from "../shared/visitor.ts";
import { type Blob, Dish, middleOf } from "./dish.ts";
import type { Effects } from "./effects.ts";
import type { Steer } from "./rules.ts";
import type { Obituary } from "./screens.ts";

export type Mode = "watching" | "playing" | "eaten";

export interface GameEvents {
  mode(mode: Mode, obituary: Obituary | undefined): void;
  /** The player's colour is known, or changed. */
  hue(hue: number): void;
}

/** All-time leaderboard. */
const BOARD = "arena";

const AT_REST: Steer = { aim: [0, 0], split: false };

/** A player spawns with the first input that is not zero. */
const BEGINNING: Steer = { aim: [0.0625, 0], split: false };

export class Game {
  mode: Mode = "watching";
  /** Highest known mass of the player. */
  best = 0;
  readonly dish: Dish;
  private readonly events: GameEvents;
  private room: Room<Steer> | undefined;
  private hue: number | undefined;
  /** Colour chosen while there was no room. */
  private pendingHue: number | undefined;
  private beganMs = 0;
  private lifeBest = 0;

  constructor(effects: Effects, events: GameEvents) {
    this.dish = new Dish(effects);
    this.events = events;
  }

  /** Number of the player's eater. */
  get number(): number | undefined {
    return this.room?.welcome?.player;
  }

  get own(): Blob[] {
    return this.number === undefined ? [] : this.dish.of(this.number);
  }

  get mass(): number {
    return this.own.reduce((sum, blob) => sum + blob.mass, 0);
  }

  /** Rank of the player on the room's leaderboard, if listed. */
  get rank(): number | undefined {
    const at = this.dish.roomRows.findIndex((row) => row.eater === this.number && this.number !== undefined);
    return at < 0 ? undefined : at + 1;
  }

  /** Starts in a new room. */
  enter(room: Room<Steer>): void {
    this.room = room;
    this.dish.clear();
    room.on("joined", () => this.dish.clear());
    room.on("event", ({ feature, action, fields }) => {
      if (feature !== "boards" || action !== "eaten" || fields["eater"] !== this.number) return;
      this.eaten(Number(fields["by"]), Number(fields["best"]));
    });
    if (this.mode === "playing") room.setInput(BEGINNING);
    void this.askBest();
    if (this.pendingHue !== undefined) this.paint(this.pendingHue);
  }

  play(): void {
    this.beganMs = performance.now();
    this.lifeBest = 0;
    this.room?.setInput(BEGINNING);
    this.change("playing", undefined);
  }

  paint(hue: number): void {
    this.pendingHue = hue;
    const sent = this.room?.command("labels", "paint", { hue });
    sent?.then(
      () => (this.pendingHue = undefined),
      // Sent again in the next room.
      () => undefined,
    );
  }

  /** Updates from the room's current state. */
  advance(seconds: number): void {
    if (this.room === undefined) return;
    this.dish.update(this.room, seconds);
    const own = this.own;
    const [first] = own;
    if (first !== undefined && first.hue !== this.hue) {
      this.hue = first.hue;
      this.events.hue(first.hue);
    }
    if (this.mode !== "playing") return;
    const mass = own.reduce((sum, blob) => sum + blob.mass, 0);
    this.lifeBest = Math.max(this.lifeBest, mass);
    this.best = Math.max(this.best, mass);
  }

  /** Sends the player's input. */
  steer(steer: Steer): void {
    if (this.mode === "playing") this.room?.setInput(this.own.length === 0 ? BEGINNING : steer);
  }

  /** Target of the camera: the player's blobs, or the heaviest blob in view. */
  get focus(): { readonly x: number; readonly y: number; readonly mass: number } | undefined {
    const own = middleOf(this.own);
    if (own !== undefined) return own;
    let heaviest: Blob | undefined;
    for (const blob of this.dish.blobs.values()) if (blob.mass > (heaviest?.mass ?? 0)) heaviest = blob;
    return this.mode === "watching" ? heaviest : undefined;
  }

  private eaten(by: number, best: number): void {
    if (this.mode !== "playing") return;
    const name = this.dish.of(by)[0]?.name ?? this.dish.roomRows.find((row) => row.eater === by)?.name ?? "";
    // `best` counts from the join, which may have been several lives ago.
    const mass = Math.max(this.lifeBest, this.lifeBest === 0 ? best : 0);
    const isBest = Math.max(this.best, mass);
    this.best = isBest;
    this.room?.setInput(AT_REST);
    this.change("eaten", { by: name, mass, seconds: (performance.now() - this.beganMs) / 1000 });
    void this.askBest();
  }

  private async askBest(): Promise<void> {
    try {
      const { records } = await visitor().leaderboard.around(BOARD, { limit: 1 });
      const [own] = records;
      if (own !== undefined && own.ownerId === visitor().session.identity?.userId) this.best = Math.max(this.best, Number(own.score));
    } catch {
      // The player has no record yet.
    }
  }

  private change(mode: Mode, obituary: Obituary | undefined): void {
    this.mode = mode;
    this.events.mode(mode, obituary);
  }
}
