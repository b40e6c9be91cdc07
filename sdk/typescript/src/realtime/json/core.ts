// JSON core: readable messages, no prediction.

import { fromBase64, toBase64 } from "../../base64.ts";
import { type Time, systemTime } from "../../time.ts";
import type {
  Command,
  Core,
  CorePhase,
  CoreStatistics,
  Entity,
  Fields,
  JoinMetadata,
  RoomChoice,
  RoomEvent,
  Send,
  Welcome,
} from "../core.ts";
import type { DeliveryOrder } from "../transport/transport.ts";
import { JoinState } from "./join_state.ts";
import { Fragments, cut } from "./fragments.ts";
import { Inputs, checkedInput } from "./inputs.ts";
import {
  CLIENT_FRAME_BYTES_MAX,
  type ClientMessage,
  type Failure,
  type GameEvent,
  type Hello,
  type ServerMessage,
  type Snapshot,
  decode,
  encode,
} from "./protocol.ts";
import { messageOf } from "../members.ts";
import { Outbox } from "../outbox.ts";
import { DEFAULT_SETTINGS, type Surroundings } from "../rules.ts";
import { RoundTrips } from "./roundtrips.ts";
import type { Motions } from "./track.ts";
import { ENTITIES_MAX, World } from "./world.ts";

export interface JsonCoreOptions {
  /** The room to join; by default of the server's only room type. */
  readonly room?: RoomChoice | undefined;
  /** Texts for the game. */
  readonly metadata?: JoinMetadata;
  /** Interpolated fields by channel. Other fields change when their state arrives. */
  readonly motions?: Readonly<Record<string, Motions>> | undefined;
  readonly time?: Time;
}

/** Statistics of prediction and packets, which this core does not have. */
const NO_PREDICTION = {
  corrections: 0,
  lastCorrectionDistance: 0,
  largestCorrectionDistance: 0,
  shownErrorDistance: 0,
  leadTicks: 0,
  packetsLate: 0,
  packetsMissing: 0,
  packetsHeld: 0,
  loss: 0,
};

/** Empty world before the join. */
const NOTHING: Surroundings = { entities: () => [], version: () => 0 };

/** Maximum number of queued events. The oldest are dropped beyond it. All entities may leave and others enter at once. */
const EVENTS_MAX = 2 * ENTITIES_MAX;

export class JsonCore implements Core {
  readonly encoding = "json";
  /** Only `interpolation` has an effect. */
  settings = DEFAULT_SETTINGS;
  welcome: Welcome | undefined;
  ownEntity: number | undefined;
  private readonly joinState: JoinState;
  private readonly motions: Readonly<Record<string, Motions>>;
  private link: DeliveryOrder = "ordered";
  private world: World | undefined;
  private inputs: Inputs | undefined;
  private input: Fields | undefined;
  private inputAck = 0;
  private fragments = new Fragments();
  private readonly roundTrips = new RoundTrips();
  private commandSeq = 0;
  private fragmented = 0;
  private hello: Hello | undefined;
  private outbox = new Outbox(false);
  private movements: Uint8Array[] = [];
  private events: RoomEvent[] = [];
  private hasReportedEnd = false;
  private faults = 0;
  private packetsReceived = 0;

  constructor(options: JsonCoreOptions = {}) {
    this.joinState = new JoinState(options.room, options.metadata ?? {}, options.time ?? systemTime);
    this.motions = options.motions ?? {};
  }

  get phase(): CorePhase {
    return this.joinState.phase;
  }

  get retryAtMs(): number | undefined {
    return this.joinState.retryAtMs;
  }

  get tick(): number {
    return this.world?.tick ?? 0;
  }

  get statistics(): CoreStatistics {
    const { roundTripMs, jitterMs } = this.roundTrips;
    const { inputAck, faults, packetsReceived } = this;
    const inputSeq = this.inputs?.seq ?? 0;
    const interpolationDelayMs = this.world?.clock.delayMs ?? 0;
    const clockOffsetMs = roundTripMs === undefined ? undefined : this.world?.clock.offsetMs(roundTripMs);
    return { ...NO_PREDICTION, roundTripMs, jitterMs, clockOffsetMs, inputSeq, inputAck, pendingInputs: Math.max(0, inputSeq - inputAck), faults, packetsReceived, interpolationDelayMs };
  }

  get surroundings(): Surroundings {
    return this.world ?? NOTHING;
  }

  connected(link: DeliveryOrder): void {
    this.link = link;
    this.fragments = new Fragments();
    this.hello = this.joinState.connected();
  }

  disconnected(text: string, nowMs: number): void {
    const wasJoined = this.phase === "joined";
    this.hello = undefined;
    this.outbox = new Outbox(false);
    this.joinState.lost(nowMs);
    if (this.phase !== "ended" && wasJoined) this.happened({ kind: "lost", text });
    this.reportIfEnded();
  }

  receive(bytes: Uint8Array, nowMs: number): void {
    try {
      this.handle(decode(bytes), nowMs);
    } catch {
      // An invalid message must not stop the client.
      this.faults += 1;
    }
  }

  advance(nowMs: number, send: Send): void {
    const { hello } = this;
    this.hello = undefined;
    if (hello !== undefined) send(encode({ kind: "hello", payload: hello }), true);
    this.outbox.drain(nowMs, (bytes) => send(bytes, true));
    if (this.phase !== "joined") return;
    for (const movement of this.movements.splice(0)) send(movement, false);
    if (this.roundTrips.isDue(nowMs)) send(this.ping(nowMs), false);
    const due = this.input && this.inputs?.due(this.input, this.world?.clock.shownTick(nowMs) ?? 0, nowMs);
    if (due !== undefined) send(due, false);
  }

  takeEvents(): RoomEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  setToken(token: string | undefined): void {
    this.joinState.token = token;
  }

  setInput(input: Fields): void {
    this.input = checkedInput(input);
  }

  command(command: Command): number | undefined {
    if (this.phase !== "joined") return undefined;
    this.outbox.ensureRoom();
    this.commandSeq += 1;
    const seq = this.commandSeq;
    if ("code" in command) {
      const payload = { code: command.code, data: toBase64(command.bytes) };
      this.post({ kind: "command", seq, feature: "game", action: "message", payload });
    } else {
      const { feature, action, fields } = command;
      this.post({ kind: "command", seq, feature, action, ...(fields === undefined ? {} : { payload: fields }) });
    }
    return seq;
  }

  moveBy(dx: number, dy: number, nowMs: number): number | undefined {
    const { inputs, ownEntity: entity } = this;
    if (this.phase !== "joined" || inputs === undefined || entity === undefined) return undefined;
    const seq = inputs.takeNumber();
    this.movements.push(encode({ kind: "command", feature: "movement", action: "delta", seq, clientTime: stamp(nowMs), payload: { entity, dx, dy } }));
    return seq;
  }

  leave(): void {
    // Queued messages would only delay it.
    this.outbox = new Outbox(false);
    if (this.phase === "joined") this.post({ kind: "leave" });
    this.joinState.finish({ reason: "left", text: "You left the room." });
    this.reportIfEnded();
  }

  entities(channel: string, nowMs: number): Iterable<Entity> {
    return this.world?.shown(channel, this.shownMs(nowMs)) ?? [];
  }

  entity(channel: string, id: number, nowMs: number): Entity | undefined {
    return this.world?.entity(channel, id, this.shownMs(nowMs));
  }

  /** Without interpolation the newest state is shown. */
  private shownMs(nowMs: number): number {
    return this.settings.interpolation ? nowMs : Number.POSITIVE_INFINITY;
  }

  private handle(message: ServerMessage, nowMs: number): void {
    switch (message.kind) {
      case "welcome":
        return this.joined(message.payload, nowMs);
      case "error":
        return this.refused(message.payload, nowMs);
      case "closing":
        this.joinState.announced(message.payload);
        return this.happened({ kind: "closing", ...message.payload });
      case "fragment": {
        const whole = this.fragments.add(message.payload);
        const inner = whole === undefined ? undefined : decode(whole);
        if (inner?.kind === "fragment") throw new Error("A fragment contains a fragment.");
        return inner === undefined ? undefined : this.handle(inner, nowMs);
      }
      default:
        // Other messages have no use outside a room.
        if (this.phase === "joined") this.handleJoined(message, nowMs);
    }
  }

  private handleJoined(message: Exclude<ServerMessage, { kind: "welcome" | "error" | "closing" | "fragment" }>, nowMs: number): void {
    switch (message.kind) {
      case "snapshot":
        return this.applySnapshot(message.payload, nowMs);
      case "event":
        return this.happened(eventOf(message.feature, message.action, message.payload, this.welcome?.tickHz === 0));
      case "possession":
        this.ownEntity = message.payload.entity;
        return this.happened({ kind: "possession", ...message.payload });
      case "correction": {
        const { ackSeq, ...where } = message.payload;
        return this.happened({ kind: "correction", ...where, inputAck: ackSeq });
      }
      case "ack": {
        const { error } = message.payload;
        return this.happened({ kind: "answer", seq: message.seq, ...(error && { code: error.code, text: error.message }) });
      }
      case "pong":
        return this.roundTrips.add(nowMs - message.clientTime - message.payload.holdUs / 1000);
      case "manifest":
        return this.happened({ kind: "manifest", manifest: message.payload });
      case "cleared":
        for (const entity of this.world?.forget() ?? []) this.happened({ kind: "leave", tick: message.payload.tick, entity });
        return this.happened({ kind: "cleared", tick: message.payload.tick });
      default:
        return;
    }
  }

  /** Resets everything that is numbered or stored per connection. */
  private joined(welcome: Welcome, nowMs: number): void {
    if (this.phase === "joined" || this.phase === "ended" || this.retryAtMs !== undefined) throw new Error("A welcome arrived without a hello.");
    const isResumed = this.joinState.welcomed(welcome);
    this.welcome = welcome;
    this.world = new World(welcome, this.motions);
    this.outbox = new Outbox(welcome.tickHz === 0);
    // A relay has no ticks and no inputs.
    this.inputs = welcome.tickHz > 0 ? new Inputs(welcome.tickHz, this.link === "unordered", nowMs) : undefined;
    this.inputAck = 0;
    this.movements = [];
    this.ownEntity = undefined;
    this.roundTrips.reset();
    this.happened({ kind: "joined", welcome, isResumed });
  }

  private refused({ code, message, fatal }: Failure & { readonly fatal: boolean }, nowMs: number): void {
    this.happened({ kind: "error", code, text: message });
    if (this.phase === "joined" || this.phase === "ended") return;
    const hello = this.joinState.refused(code, message, nowMs);
    // After a fatal error the server closes the connection; otherwise it waits for another hello.
    if (!fatal) this.hello = hello;
    this.reportIfEnded();
  }

  private applySnapshot(snapshot: Snapshot, nowMs: number): void {
    const changes = this.world?.apply(snapshot, nowMs);
    if (changes === undefined) return;
    this.packetsReceived += 1;
    this.inputAck = snapshot.localAckSeq;
    const { tick } = snapshot;
    for (const entity of changes.left) this.happened({ kind: "leave", tick, entity });
    for (const entity of changes.entered) this.happened({ kind: "enter", tick, entity });
    this.happened({ kind: "snapshot", tick: snapshot.tick, inputAck: snapshot.localAckSeq, ...changes });
    if ((this.world?.size ?? 0) <= ENTITIES_MAX) return;
    this.joinState.finish({ reason: "too_many_entities", text: `The server sent more than ${ENTITIES_MAX} entities.` });
    this.reportIfEnded();
  }

  private ping(nowMs: number): Uint8Array {
    this.roundTrips.sent(nowMs);
    return encode({ kind: "ping", clientTime: stamp(nowMs), payload: { tick: this.tick } });
  }

  /** Queues a message; one longer than a frame is split into fragments. */
  private post(message: ClientMessage): void {
    const bytes = encode(message);
    if (bytes.length <= CLIENT_FRAME_BYTES_MAX) return this.outbox.push(bytes, false);
    this.fragmented += 1;
    for (const payload of cut(this.fragmented, bytes)) this.outbox.push(encode({ kind: "fragment", payload }), true);
  }

  private reportIfEnded(): void {
    const { end } = this.joinState;
    if (end === undefined || this.hasReportedEnd) return;
    this.hasReportedEnd = true;
    this.happened({ kind: "ended", ...end });
  }

  private happened(event: RoomEvent): void {
    if (this.events.length >= EVENTS_MAX) this.events.shift();
    this.events.push(event);
  }
}

/** The protocol counts microseconds, so a finer fraction would be lost. */
function stamp(nowMs: number): number {
  return Math.round(nowMs * 1000) / 1000;
}

function eventOf(feature: string | undefined, action: string | undefined, event: GameEvent, isRelay: boolean): RoomEvent {
  const { tick, fields = {}, code = 0, data = "", sender = 0 } = event;
  if (feature !== undefined && action !== undefined) return { kind: "event", tick, feature, action, fields, sender };
  return messageOf({ kind: "message", tick, code, bytes: fromBase64(data), sender }, isRelay);
}
