// The services socket: status, parties, matchmaking, matches, chat and functions. It reconnects by itself.

import { socketErrorOf } from "../error.ts";
import { Emitter, type OfKind, type Stream } from "../realtime/events.ts";
import type { ChatHistory } from "../services/chat.ts";
import { notificationOf } from "../services/notification.ts";
import type { CallOptions } from "../services/requests.ts";
import { defined } from "../services/values.ts";
import { bracketUpdateOf, isOfBracket } from "./bracket_update.ts";
import { Chat } from "./chat.ts";
import { Connection, type ConnectionParts, type SocketPhase } from "./connection.ts";
import type { NotRestored, SocketContext, SocketEvent, StreamName } from "./events.ts";
import { Matches } from "./match.ts";
import { Matchmaker } from "./matchmaker.ts";
import { changeOf } from "./members.ts";
import { Parties } from "./parties.ts";
import { restoreErrorOf } from "./restore.ts";
import { Status } from "./status.ts";
import { ValueWatch } from "./value_watch.ts";
import { type ServerMessage, type WireStream, presenceOf } from "./wire.ts";

export class Socket implements AsyncIterable<SocketEvent> {
  readonly status: Status;
  readonly parties: Parties;
  readonly matchmaker: Matchmaker;
  readonly matches: Matches;
  readonly chat: Chat;
  readonly remoteValues: ValueWatch;
  private readonly connection: Connection;
  private readonly emitter = new Emitter<SocketEvent>("The socket is closed.");
  private hasConnected = false;
  private notRestored: readonly NotRestored[] = [];
  private lastError: Error | undefined;

  /** Use `client.openSocket`. */
  constructor(parts: ConnectionParts, history: ChatHistory, status: string | undefined) {
    this.connection = new Connection(parts, {
      restore: () => this.restore(),
      connected: () => this.handleConnected(),
      received: (message) => this.handle(message),
      lost: (text) => this.handleLost(text),
      failed: (error) => this.handleFailed(error),
      ended: (reason, text) => this.handleEnded(reason, text),
    });
    const context: SocketContext = { connection: this.connection, emit: (event) => this.emitter.emit(event) };
    this.status = new Status(context, status);
    this.matchmaker = new Matchmaker(context);
    this.parties = new Parties(context, this.matchmaker, parts.time);
    this.matches = new Matches(context);
    this.chat = new Chat(context, history, parts.time);
    this.remoteValues = new ValueWatch(context);
    this.connection.start();
  }

  get phase(): SocketPhase {
    return this.connection.phase;
  }

  /** Error of the last failed attempt to connect. */
  get error(): Error | undefined {
    return this.lastError;
  }

  /** Number of messages of the server that could not be read and were dropped. */
  get faults(): number {
    return this.connection.faults;
  }

  /** Calls a function of the server; resolves with its answer. */
  rpc(id: string, payload?: string, options?: CallOptions): Promise<string> {
    return this.connection.request({ rpc: defined({ id, payload }) }, { read: ({ rpc }) => rpc?.payload ?? "" }, options);
  }

  /** Calls the listener for every event of a kind, until the returned function is called. */
  on<Kind extends SocketEvent["kind"]>(kind: Kind, listener: (event: OfKind<SocketEvent, Kind>) => void): () => void {
    return this.emitter.on(kind, listener);
  }

  /** Resolves with the next event of a kind. Rejects when the socket is closed. */
  next<Kind extends SocketEvent["kind"]>(kind: Kind, options: { readonly signal?: AbortSignal } = {}): Promise<OfKind<SocketEvent, Kind>> {
    return this.emitter.next(kind, options.signal);
  }

  /** Returns events of some kinds from now on, for `for await`. Ends with the socket. */
  events<Kind extends SocketEvent["kind"]>(...kinds: readonly Kind[]): Stream<OfKind<SocketEvent, Kind>> {
    return this.emitter.stream(kinds.length === 0 ? undefined : kinds);
  }

  /** Returns all events from now on. */
  [Symbol.asyncIterator](): Stream<SocketEvent> {
    return this.emitter.stream();
  }

  /** Drops the connection and reconnects at once, or ends the pause before the next attempt. */
  reconnect(): void {
    this.connection.reconnect();
  }

  /** Closes the socket for good. The player leaves parties, matches and channels. */
  close(): void {
    this.connection.close("closed", "You closed the socket.");
  }

  private async restore(): Promise<void> {
    const failures: NotRestored[] = [];
    const restore = async (what: NotRestored["what"], restoring: Promise<void>): Promise<void> => {
      try {
        await restoring;
      } catch (thrown) {
        failures.push({ what, id: "", error: restoreErrorOf(thrown) });
      }
    };
    await restore("status", this.status.restore());
    failures.push(...(await this.parties.restore()), ...(await this.matches.restore()), ...(await this.chat.restore()));
    await restore("remote_values", this.remoteValues.restore());
    this.notRestored = failures;
  }

  private handleConnected(): void {
    const isReconnect = this.hasConnected;
    this.hasConnected = true;
    this.lastError = undefined;
    this.emitter.emit({ kind: "connected", isReconnect, notRestored: this.notRestored });
    this.matchmaker.reconnected();
  }

  private handleLost(text: string): void {
    this.matchmaker.disconnected();
    this.parties.disconnected();
    this.emitter.emit({ kind: "lost", text });
  }

  private handleFailed(error: Error): void {
    this.lastError = error;
    this.parties.disconnected();
  }

  private handleEnded(reason: string, text: string): void {
    this.parties.disconnected();
    this.emitter.emit({ kind: "ended", reason, text });
    this.emitter.end();
  }

  private handle(message: ServerMessage): void {
    if (message.status_presence_event !== undefined) return this.status.handle(message.status_presence_event);
    if (message.match_data !== undefined) return this.matches.handleData(message.match_data);
    if (message.match_presence_event !== undefined) return this.matches.handleMembers(message.match_presence_event);
    if (message.matchmaker_matched !== undefined) return this.matchmaker.handle(message.matchmaker_matched);
    if (message.channel_message !== undefined) return this.chat.handleMessage(message.channel_message);
    if (message.channel_presence_event !== undefined) return this.chat.handleMembers(message.channel_presence_event);
    if (message.notifications !== undefined) return this.handleNotifications(message.notifications);
    if (message.stream_data !== undefined || message.stream_presence_event !== undefined) return this.handleStream(message);
    if (message.error !== undefined) return this.emitter.emit({ kind: "error", error: socketErrorOf(message.error) });
    this.parties.handle(message);
  }

  private handleNotifications({ notifications = [] }: NonNullable<ServerMessage["notifications"]>): void {
    this.emitter.emit({ kind: "notifications", notifications: notifications.map(notificationOf) });
  }

  private handleBracket(data: string): void {
    const update = bracketUpdateOf(data);
    if (update !== undefined) this.emitter.emit({ kind: "bracket", ...update });
  }

  private handleStream({ stream_data, stream_presence_event }: ServerMessage): void {
    if (stream_presence_event !== undefined) {
      this.emitter.emit({ kind: "stream_members", stream: streamOf(stream_presence_event.stream), ...changeOf(stream_presence_event) });
    }
    if (stream_data !== undefined) {
      const [stream, data] = [streamOf(stream_data.stream), stream_data.data ?? ""];
      if (this.remoteValues.handle(stream, data)) return;
      if (isOfBracket(stream)) return this.handleBracket(data);
      const sender = stream_data.sender && presenceOf(stream_data.sender);
      this.emitter.emit({ kind: "stream_data", stream, sender, data });
    }
  }
}

function streamOf({ mode = 0, subject = "", subcontext = "", label = "" }: WireStream = {}): StreamName {
  return { mode, subject, subcontext, label };
}
