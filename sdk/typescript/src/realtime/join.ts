// Joining a room.

import { AetherError, isForeignOrigin } from "../error.ts";
import type { Server, ServerInfo } from "../services/server.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import { type Attention, pageAttention } from "./attention.ts";
import type { Core, Fields, JoinMetadata, RoomChoice } from "./core.ts";
import { JsonCore } from "./json/core.ts";
import type { Motions } from "./json/track.ts";
import { Room } from "./room.ts";
import type { Rules } from "./rules.ts";
import { TransportChooser, type TransportPreference } from "./transport/chooser.ts";
import type { OpenTransport } from "./transport/transport.ts";
import { type WebSocketClass, webSocketAt } from "./transport/websocket.ts";
import { hasWebTransport, webTransportAt } from "./transport/webtransport.ts";
import { WasmCore } from "./wasm/core.ts";
import { type WasmSource, loadWasm } from "./wasm/module.ts";

export interface JoinOptions extends CallOptions {
  /**
   * Texts for the game, which reads them when the player joins, such as `{ profile: "mage" }`: up to 16 entries with
   * 1,024 bytes in all, keys up to 64 bytes and texts up to 512. A resumed player keeps those of its join.
   */
  readonly metadata?: JoinMetadata;
  /** Transport; "auto" by default: WebTransport where it opens quickly, else WebSocket. */
  readonly transport?: TransportPreference;
  /** Movement rules of the own entity, for prediction. They need the core "wasm". */
  readonly rules?: Rules<never, never>;
  /**
   * "wasm" by default: protobuf, prediction, interpolation of every field. "json": readable messages without
   * prediction, for pages that may not use WebAssembly. Or a core of your own.
   */
  readonly core?: CoreKind | ((room: RoomChoice | undefined, metadata: JoinMetadata) => Core);
  /** Source of the core's WASM file, if it is not beside this module: its URL, its bytes, or the compiled module. */
  readonly wasm?: WasmSource;
  /** Interpolated fields by channel, for the core "json", such as `{ movement: { position: "linear" } }`. */
  readonly motions?: Readonly<Record<string, Motions>>;
  /** WebSocket class, where there is no global one: in Node.js 20. */
  readonly webSocket?: WebSocketClass;
  /** Source of events after which the connection is checked; by default those of the page. */
  readonly attention?: Attention;
}

/** Cores of this package. */
export type CoreKind = "wasm" | "json";

/** Parts of a client that joining uses. */
export interface JoinParts {
  readonly server: Server;
  /** Origin of the server. */
  readonly url: string;
  readonly time: Time;
  /** Returns an access token; a fresh one if the last was rejected. */
  readonly token: (isFresh: boolean) => Promise<string | undefined>;
}

/** Default time limit of a join, all attempts together. */
const JOIN_MS_MAX = 20_000;

/** Time limit for the server's WebTransport address, before WebSocket is used instead. */
const INFO_MS_MAX = 2_000;

/** Joins a room; resolves when the player has joined. */
export async function joinRoom<Input extends object = Fields>(
  parts: JoinParts,
  choice: RoomChoice | string | undefined,
  options: JoinOptions = {},
): Promise<Room<Input>> {
  const { time } = parts;
  const room = typeof choice === "string" ? { type: { name: choice } } : choice;
  const admission = new PageAdmission(parts);
  const openers = {
    webSocket: admission.explained(webSocketAt(`${parts.url.replace(/^http/, "ws")}/rt`, options.webSocket)),
    webTransport: () => webTransportOf(parts, admission),
  };
  const joined = new Room<Input>({
    core: await coreOf(room, options, time),
    choice: new TransportChooser(options.transport ?? "auto", openers, time),
    token: parts.token,
    time,
    attention: options.attention ?? pageAttention,
  });
  await untilJoined(joined, options, time);
  return joined;
}

async function coreOf(room: RoomChoice | undefined, options: JoinOptions, time: Time): Promise<() => Core> {
  const { core = "wasm", metadata = {}, motions } = options;
  if (typeof core === "function") return () => core(room, metadata);
  if (core === "json") return () => new JsonCore({ room, metadata, motions, time });
  const module = await loadWasm(options.wasm);
  return () => new WasmCore(module, { room, metadata, rules: options.rules as Rules | undefined, time });
}

function untilJoined<Input extends object>(room: Room<Input>, options: CallOptions, time: Time): Promise<void> {
  return new Promise((resolve, reject) => {
    let lastError: string | undefined;
    const settle = (error: Error | undefined): void => {
      for (const stop of stops) stop();
      if (error === undefined) return resolve();
      void room.leave();
      reject(error);
    };
    const aborted = (): void => settle(options.signal?.reason as Error);
    const late = (): void => settle(new AetherError("timed_out", lastError ?? "Joining the room timed out."));
    const stops = [
      room.on("joined", () => settle(undefined)),
      room.on("error", ({ text }) => void (lastError = text)),
      room.on("ended", ({ reason, text }) => settle(new AetherError(reason, text))),
      time.after(options.timeoutMs ?? JOIN_MS_MAX, late),
      () => options.signal?.removeEventListener("abort", aborted),
    ];
    if (options.signal?.aborted === true) return aborted();
    options.signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** Asks each time, because the certificate's hash changes while a server runs. */
async function webTransportOf({ url }: JoinParts, admission: PageAdmission): Promise<OpenTransport | undefined> {
  if (!hasWebTransport()) return undefined;
  const info = await admission.info();
  return info.webTransport === null ? undefined : webTransportAt(info.webTransport, url);
}

/**
 * Finds out whether the server refuses the origin of this page. Browsers hide the reason why a WebSocket or
 * WebTransport does not open, but a page of any origin can read a refusal at `/api/server`.
 */
class PageAdmission {
  private readonly parts: JoinParts;
  private isKnown: boolean;

  constructor(parts: JoinParts) {
    this.parts = parts;
    this.isKnown = !isForeignPage(parts.url);
  }

  /** Server information, which is read with the page's origin. */
  async info(signal?: AbortSignal): Promise<ServerInfo> {
    const info = await this.parts.server.info({ timeoutMs: INFO_MS_MAX, signal });
    this.isKnown = true;
    return info;
  }

  /** Opens a transport, and rejects with the server's reason if it refuses the page's origin. */
  explained(open: OpenTransport): OpenTransport {
    return async (encoding, events, signal) => {
      try {
        return await open(encoding, events, signal);
      } catch (error) {
        if (!this.isKnown && !signal.aborted) await this.info(signal).catch(throwForeignOrigin);
        throw error;
      }
    };
  }
}

function throwForeignOrigin(error: unknown): void {
  if (isForeignOrigin(error)) throw error;
}

/** Returns whether another server serves the page. Without a page there is no origin. */
function isForeignPage(url: string): boolean {
  return "location" in globalThis && location.origin !== new URL(url).origin;
}
