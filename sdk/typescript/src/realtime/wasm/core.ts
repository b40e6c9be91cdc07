// Core in WebAssembly, the same as in native clients: protobuf, prediction of the own entity by the game's rules,
// interpolation of everything else.

import { AetherError } from "../../error.ts";
import { type Time, systemTime } from "../../time.ts";
import type { Command, Core, CorePhase, CoreStatistics, Entity, Fields, JoinMetadata, RoomChoice, RoomEvent, Send, Welcome } from "../core.ts";
import { messageOf } from "../members.ts";
import { Outbox } from "../outbox.ts";
import { report } from "../report.ts";
import { DEFAULT_SETTINGS, type Rules, type Settings, type Surroundings } from "../rules.ts";
import type { DeliveryOrder } from "../transport/transport.ts";
import { Channels } from "./channels.ts";
import { sendBuiltIn } from "./commands.ts";
import { type RecordSchema, RowReader, type Schema, readSchema, snakeCase, writeRecord } from "./layout.ts";
import type { WasmModule } from "./module.ts";
import { Stepper } from "./stepper.ts";

export interface WasmCoreOptions {
  /** The room to join; by default of the server's only room type. */
  readonly room?: RoomChoice | undefined;
  /** Texts for the game. */
  readonly metadata?: JoinMetadata;
  /** Movement rules of the own entity; without them it is not predicted. */
  readonly rules?: Rules | undefined;
  readonly time?: Time;
}

const PHASES: readonly CorePhase[] = ["connecting", "joined", "resuming", "ended"];

/** Flags in the first byte of an outgoing message. */
const RELIABLE = 1;
const FRAGMENT = 2;
const HELLO = 4;
const HEAD_BYTES = 5;

type Native = InstanceType<WasmModule["bindings"]["Core"]>;

/** Event of the module. A game's message has a row, or bytes if the schema does not know it. */
type NativeEvent =
  | Exclude<RoomEvent, { kind: "event" | "message" | "member" | "lost" }>
  | { readonly kind: "lost" }
  | { readonly kind: "message"; readonly tick: number; readonly sender: number; readonly code: number; readonly row?: Float64Array; readonly bytes?: Uint8Array };

export class WasmCore implements Core {
  readonly encoding = "protobuf";
  welcome: Welcome | undefined;
  private readonly native: Native;
  private readonly stepper: Stepper | undefined;
  private readonly channels = new Channels();
  private schema: Schema | undefined;
  private input: Fields | undefined;
  private outbox = new Outbox(false);
  private lostText = "";
  private shown = DEFAULT_SETTINGS;

  constructor(module: WasmModule, options: WasmCoreOptions = {}) {
    const { Core: NativeCore, ScriptRules } = module.bindings;
    const { metadata = {}, rules, time = systemTime } = options;
    const [kind, name, label] = selectorOf(options.room);
    if (rules !== undefined) this.stepper = new Stepper(module.memory, rules, this.channels);
    const script = rules && this.stepper && new ScriptRules(rules.channel, [...(rules.ignored ?? [])], this.stepper.step);
    this.native = new NativeCore(kind, name, label, Object.entries(metadata).flat(), time.random(), script);
    this.channels.surroundings = this.native.surroundings();
  }

  get phase(): CorePhase {
    return PHASES[this.native.phase()] as CorePhase;
  }

  get retryAtMs(): number | undefined {
    return this.native.retryAtMs();
  }

  get ownEntity(): number | undefined {
    return this.native.ownEntity();
  }

  get tick(): number {
    return this.native.tick();
  }

  get settings(): Settings {
    return this.shown;
  }

  set settings(settings: Settings) {
    this.shown = settings;
    this.native.set(settings.prediction, settings.reconciliation, settings.interpolation);
  }

  get statistics(): CoreStatistics {
    const values = this.native.statistics();
    const at = (index: number): number => values[index] as number;
    return {
      roundTripMs: Number.isNaN(at(0)) ? undefined : at(0),
      jitterMs: Number.isNaN(at(0)) ? undefined : at(1),
      interpolationDelayMs: at(2),
      inputSeq: at(3),
      inputAck: at(4),
      faults: at(5),
      corrections: at(6),
      lastCorrectionDistance: at(7),
      largestCorrectionDistance: at(8),
      shownErrorDistance: at(9),
      pendingInputs: at(10),
      packetsReceived: at(11),
      packetsLate: at(12),
      packetsMissing: at(13),
      leadTicks: at(14),
      clockOffsetMs: Number.isNaN(at(15)) ? undefined : at(15),
      loss: at(16),
      packetsHeld: at(17),
    };
  }

  get surroundings(): Surroundings {
    return this.channels;
  }

  connected(link: DeliveryOrder, nowMs: number): void {
    this.outbox = new Outbox(false);
    this.native.connected(link === "ordered", nowMs);
  }

  disconnected(text: string, nowMs: number): void {
    this.lostText = text;
    this.outbox = new Outbox(false);
    this.native.disconnected(nowMs);
  }

  receive(bytes: Uint8Array, nowMs: number): void {
    if (this.native.receive(bytes, nowMs)) this.learn(readSchema(this.native.schema(), this.native.initials()));
  }

  advance(nowMs: number, send: Send): void {
    const frames = this.native.advance(nowMs);
    const view = new DataView(frames.buffer, frames.byteOffset, frames.byteLength);
    for (let at = 0; at < frames.length; ) {
      const flags = frames[at] as number;
      const end = at + HEAD_BYTES + view.getUint32(at + 1, true);
      const message = frames.subarray(at + HEAD_BYTES, end);
      at = end;
      if ((flags & HELLO) !== 0) send(message, true);
      else if ((flags & RELIABLE) !== 0) this.outbox.push(message, (flags & FRAGMENT) !== 0);
      else send(message, false);
    }
    this.outbox.drain(nowMs, (bytes) => send(bytes, true));
  }

  takeEvents(): RoomEvent[] {
    const events = this.native.takeEvents() as (NativeEvent | null)[];
    return events.flatMap((event) => (event === null ? [] : [this.eventOf(event)]));
  }

  setToken(token: string | undefined): void {
    this.native.setToken(token);
  }

  setInput(input: Fields): void {
    this.applyInput(input);
    this.input = input;
  }

  command(command: Command): number | undefined {
    if (this.phase !== "joined") return undefined;
    this.outbox.ensureRoom();
    if ("code" in command) return this.native.sayBytes(command.code, command.bytes) || undefined;
    const { feature, action, fields = {} } = command;
    const isMeant = ({ channel, name }: RecordSchema): boolean => channel === feature && (name === action || snakeCase(name) === action);
    const code = this.schema?.events.findIndex(isMeant) ?? -1;
    const known = this.schema?.events[code];
    if (known === undefined) return sendBuiltIn(this.native, feature, action, fields) || undefined;
    const row: number[] = [];
    writeRecord(known.kind, fields, row, `${feature}.${action}`);
    return this.native.say(code, Float64Array.from(row)) || undefined;
  }

  moveBy(dx: number, dy: number, nowMs: number): number | undefined {
    return this.native.moveBy(dx, dy, nowMs) || undefined;
  }

  leave(): void {
    // Queued messages would only delay it.
    this.outbox = new Outbox(false);
    this.native.leave();
  }

  entities(channel: string): Iterable<Entity> {
    const number = this.channels.numberOf(channel);
    return number === undefined ? [] : this.channels.read(channel, this.native.draw(number));
  }

  entity(channel: string, id: number): Entity | undefined {
    const number = this.channels.numberOf(channel);
    return number === undefined ? undefined : this.channels.read(channel, this.native.drawOne(number, id))[0];
  }

  /** Handles the schema of the room. */
  private learn(schema: Schema): void {
    this.schema = schema;
    this.channels.learn(schema);
    this.stepper?.learn(schema);
    if (this.input === undefined) return;
    try {
      this.applyInput(this.input);
    } catch (error) {
      // The input was set before the schema was known.
      report(error);
    }
  }

  private applyInput(input: Fields): void {
    if (this.schema === undefined) return;
    const [known] = this.schema.inputs;
    if (known === undefined) throw new AetherError("unsupported", "This game has no inputs.");
    const row: number[] = [];
    writeRecord(known.kind, input, row, "The input");
    this.native.setInput(Float64Array.from(row));
  }

  private eventOf(event: NativeEvent): RoomEvent {
    if (event.kind === "lost") return { kind: "lost", text: this.lostText };
    if (event.kind === "joined") {
      this.welcome = event.welcome;
      this.outbox = new Outbox(event.welcome.tickHz === 0);
    }
    if (event.kind !== "message") return event;
    const { tick, sender, code, row, bytes = new Uint8Array() } = event;
    const known = this.schema?.events[code];
    if (row === undefined || known === undefined) return messageOf({ kind: "message", tick, code, bytes, sender }, this.welcome?.tickHz === 0);
    return { kind: "event", tick, feature: known.channel, action: snakeCase(known.name), fields: new RowReader(row).record(known.kind), sender };
  }
}

function selectorOf(room: RoomChoice | undefined): [kind: string, name: string, label: string | undefined] {
  if (room === undefined) return ["", "", undefined];
  if ("id" in room) return ["id", room.id, undefined];
  if ("code" in room) return ["code", room.code, undefined];
  if ("newPrivate" in room) return ["newPrivate", room.newPrivate.name, room.newPrivate.label];
  return ["type", room.type.name, room.type.label];
}
