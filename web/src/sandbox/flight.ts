// The player's connection to a room, with its rates.

import {
  type Guest,
  type Manifest,
  AetherError,
  type Role,
  type Room,
  type RoomChoice,
  type ServerInfo,
  type TransportKind,
  hasWebTransport,
  joinRoom,
  systemTime,
} from "@aether-game/client";
import { roomCodeOf, transportOf } from "../shared/join.ts";
import { type Phase, RoomConnection } from "../shared/connection.ts";
import { developerSecret } from "../shared/developer.ts";
import { Rate } from "../shared/statistics.ts";
import { ensureSignedIn, visitor } from "../shared/visitor.ts";

/** Keys that the player holds down. */
export interface Keys {
  readonly thrust: boolean;
  readonly left: boolean;
  readonly right: boolean;
  readonly fire: boolean;
}

export interface FlightEvents {
  phase(phase: Phase): void;
  /** Shows a message. */
  notice(text: string, tone: "plain" | "good" | "bad"): void;
}

const MANIFEST_INTERVAL_MS = 1_000;

/** Time limit for joining over WebTransport before WebSocket is used instead. */
const WEBTRANSPORT_MS_MAX = 8_000;

/** Tokens that expire within this time are not used any more. */
const TOKEN_MARGIN_MS = 10_000;

/** Interpolated fields by channel. */
const MOTIONS = {
  movement: { position: "linear", heading: "angle" },
  things: { position: "linear", rotation: "angle" },
  projectile: { position: "linear" },
} as const;

/** Codes about one room, where another room of the type would do. */
const OTHER_ROOM_CODES: readonly string[] = ["room_not_found", "room_full", "join_refused"];

export class Flight {
  readonly connection: RoomConnection<Keys>;
  server: ServerInfo | undefined;
  manifest: Manifest | undefined;
  role: Role | undefined;
  readonly down = new Rate();
  readonly up = new Rate();
  readonly snapshots = new Rate();
  readonly ticks = new Rate();
  private readonly events: FlightEvents;
  private keys: Keys = { thrust: false, left: false, right: false, fire: false };
  private choice: RoomChoice | undefined;
  private wanted: TransportKind;
  private login: Guest | undefined;
  private counted = { tick: 0, received: 0, sent: 0 };

  constructor(link: URL, events: FlightEvents) {
    this.events = events;
    const code = roomCodeOf(link);
    this.choice = code === undefined ? undefined : { code };
    this.wanted = transportOf(link) === "webtransport" ? "webtransport" : "websocket";
    this.connection = new RoomConnection<Keys>(() => this.join(), { phase: events.phase, room: (room) => this.entered(room) });
    setInterval(() => this.askManifest(), MANIFEST_INTERVAL_MS);
  }

  get room(): Room<Keys> | undefined {
    return this.connection.room;
  }

  get isPlaying(): boolean {
    return this.connection.phase.name === "playing";
  }

  /** The transport in use, or the one that will be. */
  get transport(): TransportKind {
    return this.room?.statistics.transport ?? this.wanted;
  }

  get held(): Keys {
    return this.keys;
  }

  hold(keys: Keys): void {
    this.keys = keys;
    this.room?.setInput(keys);
  }

  /** Reconnects over another transport, with the same ship. */
  switchTransport(kind: TransportKind): void {
    if (kind === this.transport && this.isPlaying) return;
    this.wanted = kind;
    const { room } = this;
    room?.switchTransport(kind);
    if (kind === "websocket") return;
    setTimeout(() => {
      if (room !== this.room || this.wanted !== kind || this.isPlaying) return;
      this.fallBack("WebTransport cannot reach the server.");
      room?.switchTransport(this.wanted);
    }, WEBTRANSPORT_MS_MAX);
  }

  /** Leaves this room for another. */
  change(code: string): void {
    if (code === this.room?.welcome?.roomCode && this.isPlaying) return;
    this.choice = { code };
    this.connection.connect();
  }

  /** Updates the rates. */
  count(nowMs: number): void {
    const { bytesReceived: received = 0, bytesSent: sent = 0 } = this.room?.statistics ?? {};
    // A new room starts its counts at zero.
    this.down.add(Math.max(0, received - this.counted.received), nowMs);
    this.up.add(Math.max(0, sent - this.counted.sent), nowMs);
    const tick = this.room?.tick ?? 0;
    if (this.counted.tick > 0) this.ticks.add(Math.max(0, tick - this.counted.tick), nowMs);
    this.counted = { tick, received, sent };
  }

  private async join(): Promise<Room<Keys>> {
    this.server = await visitor().server.info();
    const parts = { server: visitor().server, url: visitor().requests.url, time: systemTime, token: (isFresh: boolean) => this.token(isFresh) };
    if (this.wanted === "webtransport" && !hasWebTransport()) this.fallBack("This browser does not support WebTransport on this page.");
    if (this.wanted === "webtransport" && this.server.webTransport === null) this.fallBack("This server does not offer WebTransport.");
    const timeoutMs = this.wanted === "webtransport" ? WEBTRANSPORT_MS_MAX : undefined;
    const options = { transport: this.wanted, motions: MOTIONS, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const any: RoomChoice = { type: { name: shownType(this.server) } };
    try {
      return await joinRoom<Keys>(parts, this.choice ?? any, options);
    } catch (error) {
      if (!(error instanceof AetherError)) throw error;
      if (error.code === "timed_out" && this.wanted === "webtransport") {
        this.fallBack("WebTransport cannot reach the server.");
        return joinRoom<Keys>(parts, this.choice ?? any, { ...options, transport: this.wanted });
      }
      if (!OTHER_ROOM_CODES.includes(error.code) || this.choice === undefined) throw error;
      // The requested room is not available; joins any other of its type.
      this.choice = undefined;
      this.events.notice(error.message, "bad");
      return joinRoom<Keys>(parts, any, options);
    }
  }

  private fallBack(why: string): void {
    this.wanted = "websocket";
    this.events.notice(`${why} Using WebSocket instead.`, "bad");
  }

  /** Returns a guest's token, that of a developer with the developer secret; without guests, the visitor's own. */
  private async token(isFresh: boolean): Promise<string> {
    if (this.server?.guests === false) {
      await ensureSignedIn();
      if (isFresh) await visitor().session.refresh();
      this.role = "player";
      return visitor().session.token();
    }
    if (isFresh || this.login === undefined || this.login.expiresAt.getTime() < Date.now() + TOKEN_MARGIN_MS) {
      this.login = await visitor().server.guest({ developerSecret: developerSecret() });
    }
    this.role = this.login.role;
    return this.login.token;
  }

  private entered(room: Room<Keys>): void {
    this.choice = room.welcome === undefined ? this.choice : { id: room.welcome.room };
    this.counted = { tick: 0, received: 0, sent: 0 };
    room.setInput(this.keys);
    room.on("joined", ({ isResumed }) => {
      this.counted.tick = 0;
      this.events.notice(isResumed ? "Reconnected, with the same ship." : "Reconnected, with a new ship.", "good");
    });
    room.on("snapshot", () => this.snapshots.add(1, performance.now()));
    room.on("manifest", ({ manifest }) => (this.manifest = manifest));
    room.on("error", ({ text }) => this.events.notice(text, "bad"));
    if (room.welcome?.tickHz === 0) this.events.notice("This room has no world to show.", "plain");
    this.askManifest();
  }

  private askManifest(): void {
    if (!this.isPlaying || this.role === undefined || !mayInspect(this.role)) return;
    // The answer is a separate event.
    this.room?.command("system", "manifest").catch(() => undefined);
  }
}

/** Returns whether the role may use playground commands. */
export function mayUsePlayground(role: Role): boolean {
  return role === "admin" || role === "developer";
}

/** Returns whether the role gets the whole manifest. */
export function mayInspect(role: Role): boolean {
  return mayUsePlayground(role) || role === "read-only";
}

/** Returns the room type to show: the sandbox, or the first with a world. A relay has no ticks and no world. */
function shownType(server: ServerInfo): string {
  const types = server.roomTypes.filter((type) => type.tickHz > 0);
  return (types.find((type) => type.name === "sandbox") ?? types[0])?.name ?? "sandbox";
}
