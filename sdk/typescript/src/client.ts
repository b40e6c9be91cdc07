// One client with every service of a server.

import type { Fields, RoomChoice } from "./realtime/core.ts";
import { type JoinOptions, joinRoom } from "./realtime/join.ts";
import type { Room } from "./realtime/room.ts";
import { Account } from "./services/account.ts";
import { Brackets } from "./services/bracket.ts";
import { ChatHistory } from "./services/chat.ts";
import { Events } from "./services/event.ts";
import { Friends } from "./services/friend.ts";
import { Groups } from "./services/group.ts";
import { Leaderboard } from "./services/leaderboard.ts";
import { Notifications } from "./services/notification.ts";
import { PartyDirectory } from "./services/party.ts";
import { Profiles } from "./services/profile.ts";
import { Purchases } from "./services/purchase.ts";
import { RemoteValues } from "./services/remote_value.ts";
import { Reports } from "./services/report.ts";
import { Requests, type RequestsOptions } from "./services/requests.ts";
import { Server } from "./services/server.ts";
import { Session, type SessionOptions } from "./services/session.ts";
import { Storage } from "./services/storage.ts";
import { Tournaments } from "./services/tournament.ts";
import type { SocketOptions } from "./socket/open.ts";
import type { Socket } from "./socket/socket.ts";

export interface ClientOptions extends RequestsOptions, SessionOptions {}

/** Client of one server. Its parts are exported too: a game that needs only storage can create just those. */
export class Client {
  readonly requests: Requests;
  readonly server: Server;
  readonly session: Session;
  readonly account: Account;
  readonly storage: Storage;
  readonly leaderboard: Leaderboard;
  readonly tournaments: Tournaments;
  readonly brackets: Brackets;
  readonly friends: Friends;
  readonly groups: Groups;
  readonly chat: ChatHistory;
  readonly notifications: Notifications;
  readonly reports: Reports;
  readonly remoteValues: RemoteValues;
  readonly profiles: Profiles;
  readonly parties: PartyDirectory;
  readonly purchases: Purchases;
  readonly events: Events;

  constructor(options: ClientOptions = {}) {
    this.requests = new Requests(options);
    this.server = new Server(this.requests);
    this.session = new Session(this.requests, options);
    this.account = new Account(this.session);
    this.storage = new Storage(this.session);
    this.leaderboard = new Leaderboard(this.session);
    this.tournaments = new Tournaments(this.session);
    this.brackets = new Brackets(this.session);
    this.friends = new Friends(this.session);
    this.groups = new Groups(this.session);
    this.chat = new ChatHistory(this.session);
    this.notifications = new Notifications(this.session);
    this.reports = new Reports(this.session);
    this.remoteValues = new RemoteValues(this.session);
    this.profiles = new Profiles(this.session);
    this.parties = new PartyDirectory(this.session);
    this.purchases = new Purchases(this.session);
    this.events = new Events(this.session);
  }

  /**
   * Joins a room: by the name of its type, by its id, or by its code; or creates a private one. Without a room, joins the
   * server's only room type. Signs in by the device id if nobody is signed in.
   */
  join<Input extends object = Fields>(room?: RoomChoice | string, options: JoinOptions = {}): Promise<Room<Input>> {
    const { server, requests } = this;
    const token = (isFresh: boolean): Promise<string> => this.token(isFresh ? () => this.session.refresh() : undefined);
    return joinRoom<Input>({ server, url: requests.url, time: requests.time, token }, room, options);
  }

  /**
   * Opens the services socket: status, parties, matchmaking, matches, chat and functions. Resolves when it is connected.
   * Signs in by the device id if nobody is signed in.
   */
  async openSocket(options: SocketOptions = {}): Promise<Socket> {
    const { url, time } = this.requests;
    // Most pages of games need none, and do not load it.
    const { openSocket } = await import("./socket/open.ts");
    // A call renews the token if the server does not accept it.
    const token = (isChecked: boolean): Promise<string> => this.token(isChecked ? () => this.account.read() : undefined);
    return openSocket({ url, time, token, session: this.session }, options);
  }

  /** Returns an access token after an optional step. Signs in if nobody is signed in. */
  private async token(prepare?: () => Promise<unknown>): Promise<string> {
    if ((await this.session.restore()) === undefined) await this.session.visit();
    await prepare?.();
    return this.session.token();
  }
}
