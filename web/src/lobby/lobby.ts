// State of the lobby: the connection, the party, the search, and the match that was found.

import { AetherError, type Identity, type MatchedUser, type Party, type Presence, type Socket } from "@aether-game/client";
import type { Phase } from "../shared/connection.ts";
import type { Tone } from "../shared/notices.ts";
import { ensureSignedIn, visitor } from "../shared/visitor.ts";
import { arenaAddress, partyIdOf } from "./links.ts";
import { errorText, leftText, namesText } from "./texts.ts";

/** Members of a party of the lobby. */
const PARTY_MEMBERS_MAX = 4;

/** Smallest match: Arena is played by two. */
const PLAYERS_MIN = 2;

/** Properties by which the server creates an Arena room for a match. */
const GAME = "arena";

/** Pause before the next attempt to connect. */
const RETRY_MS = 3_000;

/** Time limit of joining a party. */
const JOIN_MS_MAX = 10_000;

/** Messages between the members of a party. */
const CODE = { search: 1, cancelled: 2 } as const;

/** A search for a match. */
export interface Search {
  readonly sinceMs: number;
  /** Absent until the leader has told it. */
  readonly playersMax: number | undefined;
}

/** A match that was found. */
export interface Found {
  readonly address: string;
  readonly users: readonly MatchedUser[];
}

export interface LobbyEvents {
  changed(): void;
  /** A socket is connected. Its later events follow on the socket. */
  opened(socket: Socket): void;
  /** The socket was closed, or another one follows. */
  closed(): void;
  notice(text: string, tone: Tone): void;
  /** Leaves the page for the room of the match. */
  play(address: string): void;
}

export class Lobby {
  phase: Phase = { name: "connecting", text: "Connecting to the server…" };
  me: Identity | undefined;
  party: Party | undefined;
  search: Search | undefined;
  found: Found | undefined;
  /** True while a request of a button runs. */
  isBusy = false;
  /** Number of reconnects after a lost connection. */
  reconnects = 0;
  private readonly events: LobbyEvents;
  private socket: Socket | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(events: LobbyEvents) {
    this.events = events;
    // A closed page leaves its party at once.
    addEventListener("pagehide", () => this.disconnect());
    addEventListener("pageshow", (event) => event.persisted && void this.connect());
  }

  /** True if the player starts and cancels searches: alone, or as the leader of a party. */
  get isInCharge(): boolean {
    return this.party === undefined || this.party.isLeader;
  }

  /** Number of players who search together. */
  get groupSize(): number {
    return this.party?.members.length ?? 1;
  }

  /** Connects, and joins the party in the page's URL. */
  async connect(): Promise<void> {
    const invitedTo = partyIdOf(new URL(location.href));
    this.disconnect();
    this.enter({ name: "connecting", text: "Connecting to the server…" });
    try {
      this.me = await ensureSignedIn();
      this.events.changed();
      const socket = await visitor().openSocket({ status: "In the lobby" });
      this.socket = socket;
      this.listen(socket);
      this.enter({ name: "playing" });
      this.events.opened(socket);
    } catch (error) {
      return this.failed(error);
    }
    if (invitedTo !== undefined) await this.join(invitedTo);
  }

  /** Retries at once instead of waiting for the next attempt. */
  retryNow(): void {
    if (this.socket === undefined) void this.connect();
    else this.socket.reconnect();
  }

  createParty(): Promise<void> {
    return this.attempt(async (socket) => {
      const party = await socket.parties.create({ membersMax: PARTY_MEMBERS_MAX, label: this.labelOf(1) });
      this.entered(party);
    });
  }

  /** Joins a party, leaving the current one. */
  join(id: string): Promise<void> {
    return this.attempt(async (socket) => {
      if (this.party?.id === id) return;
      await this.party?.leave();
      this.party = undefined;
      this.search = undefined;
      const party = await socket.parties.join(id, { timeoutMs: JOIN_MS_MAX });
      this.entered(party);
      this.events.notice(`You joined the party of ${party.leader.username}.`, "good");
    });
  }

  leaveParty(): Promise<void> {
    return this.attempt(async () => {
      await this.party?.leave();
      this.party = undefined;
      this.search = undefined;
    });
  }

  removeMember(member: Presence): Promise<void> {
    return this.attempt(async () => this.party?.remove(member));
  }

  /** Looks for a match of up to a number of players. */
  findMatch(playersMax: number): Promise<void> {
    return this.attempt(async (socket) => {
      const ticket = { playersMin: PLAYERS_MIN, playersMax, query: `+properties.game:${GAME}`, strings: { game: GAME } };
      this.search = { sinceMs: performance.now(), playersMax };
      this.events.changed();
      try {
        await (this.party === undefined ? socket.matchmaker.add(ticket) : this.party.addTicket(ticket));
        this.party?.send(CODE.search, JSON.stringify({ playersMax }));
      } catch (error) {
        this.search = undefined;
        throw error;
      }
    });
  }

  cancelSearch(): Promise<void> {
    return this.attempt(async (socket) => {
      for (const ticket of socket.matchmaker.tickets) {
        await (this.party === undefined ? socket.matchmaker.remove(ticket) : this.party.removeTicket(ticket));
      }
      this.search = undefined;
      this.party?.send(CODE.cancelled, "");
    });
  }

  private disconnect(): void {
    clearTimeout(this.retry);
    const { socket } = this;
    this.socket = undefined;
    socket?.close();
    if (socket !== undefined) this.events.closed();
    [this.party, this.search, this.found] = [undefined, undefined, undefined];
  }

  private listen(socket: Socket): void {
    socket.on("connected", () => {
      this.reconnects += 1;
      this.events.notice("Reconnected.", "good");
      this.enter({ name: "playing" });
    });
    socket.on("lost", ({ text }) => this.enter({ name: "waiting", text }));
    socket.on("ended", ({ text }) => {
      if (socket !== this.socket) return;
      this.disconnect();
      this.enter({ name: "ended", text });
    });
    socket.on("party", ({ party }) => this.entered(party));
    socket.on("party_members", ({ joins, leaves }) => this.membersChanged(joins, leaves));
    socket.on("party_leader", ({ party, leader }) => {
      this.events.notice(party.isLeader ? "You lead the party now." : `${leader.username} leads the party now.`, "plain");
      void this.writeLabel();
      this.events.changed();
    });
    socket.on("party_left", ({ party, reason }) => {
      if (party !== this.party) return;
      [this.party, this.search] = [undefined, undefined];
      this.events.notice(leftText(reason), "bad");
      this.events.changed();
    });
    socket.on("party_data", ({ opCode, data, sender }) => this.handleData(opCode, data, sender));
    socket.on("party_ticket", () => this.searchStarted(undefined));
    socket.on("tickets_lost", ({ reason }) => {
      this.search = undefined;
      this.events.notice(reason === "disconnected" ? "The search ended with the connection. Start it again." : "The search ended because the party changed.", "bad");
      this.events.changed();
    });
    socket.on("matched", ({ match, users }) => {
      this.search = undefined;
      if ("id" in match) this.go({ address: arenaAddress(match.id), users });
      else this.events.notice("The match has no Arena room on this server.", "bad");
      this.events.changed();
    });
  }

  private go(found: Found): void {
    this.found = found;
    this.events.play(found.address);
  }

  private entered(party: Party): void {
    this.party = party;
    this.events.changed();
  }

  private membersChanged(joins: readonly Presence[], leaves: readonly Presence[]): void {
    if (joins.length > 0) this.events.notice(`${namesText(joins)} joined the party.`, "good");
    if (leaves.length > 0) this.events.notice(`${namesText(leaves)} left the party.`, "plain");
    void this.writeLabel();
    this.events.changed();
  }

  private handleData(opCode: number, data: Uint8Array, sender: Presence | undefined): void {
    // Only the leader starts and cancels searches.
    if (sender?.sessionId !== this.party?.leader.sessionId) return;
    if (opCode === CODE.search) this.searchStarted(playersMaxIn(data));
    if (opCode === CODE.cancelled) {
      this.search = undefined;
      this.events.notice(`${sender?.username ?? "The leader"} cancelled the search.`, "plain");
    }
    this.events.changed();
  }

  private searchStarted(playersMax: number | undefined): void {
    // The match may be faster than the message of the leader.
    if (this.found !== undefined) return;
    this.search = { sinceMs: this.search?.sinceMs ?? performance.now(), playersMax: playersMax ?? this.search?.playersMax };
    this.events.changed();
  }

  private labelOf(members: number): { readonly game: string; readonly leader: string; readonly members: number } {
    return { game: GAME, leader: this.me?.username ?? "", members };
  }

  /** Shows the party in lists with its leader and size. Only the leader may. */
  private async writeLabel(): Promise<void> {
    const { party } = this;
    if (party === undefined || !party.isLeader) return;
    // The next change writes it again.
    await party.update({ label: this.labelOf(party.members.length) }).catch(() => undefined);
  }

  /** Runs a request of a button, and shows its error. */
  private async attempt(request: (socket: Socket) => Promise<void>): Promise<void> {
    const { socket } = this;
    if (socket === undefined || this.isBusy) return;
    this.isBusy = true;
    this.events.changed();
    try {
      await request(socket);
    } catch (error) {
      if (socket === this.socket) this.events.notice(errorText(error), "bad");
    } finally {
      this.isBusy = false;
      this.events.changed();
    }
  }

  private failed(error: unknown): void {
    const isPermanent = error instanceof AetherError && (error.status === 401 || error.status === 403 || error.code === "unsupported");
    if (isPermanent) return this.enter({ name: "ended", text: errorText(error) });
    this.enter({ name: "waiting", text: errorText(error) });
    this.retry = setTimeout(() => void this.connect(), RETRY_MS);
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.events.changed();
  }
}

function playersMaxIn(data: Uint8Array): number | undefined {
  try {
    const { playersMax } = JSON.parse(new TextDecoder().decode(data)) as { playersMax?: unknown };
    return typeof playersMax === "number" ? playersMax : undefined;
  } catch {
    return undefined;
  }
}
