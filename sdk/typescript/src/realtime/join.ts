// Joining a room.

import { Refusal } from "../refusal.ts";
import { type Server, type ServerInfo } from "../services/server.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import { type Attention, pageAttention } from "./attention.ts";
import type { Core, Fields, RoomChoice } from "./core.ts";
import { JsonCore } from "./json/core.ts";
import type { Motions } from "./json/track.ts";
import { Room } from "./room.ts";
import type { Rules } from "./rules.ts";
import { Choice, type TransportWish } from "./transport/choice.ts";
import type { OpenTransport } from "./transport/transport.ts";
import { type WebSocketClass, webSocketAt } from "./transport/websocket.ts";
import { hasWebTransport, webTransportAt } from "./transport/webtransport.ts";
import { WasmCore } from "./wasm/core.ts";
import { type WasmSource, loadWasm } from "./wasm/module.ts";

export interface JoinOptions extends CallOptions {
  /** "auto", unless it is said: WebTransport where it can be had soon, else WebSocket. */
  readonly transport?: TransportWish;
  /** How the own entity moves, so that it moves at once. It needs the core "wasm". */
  readonly rules?: Rules<never, never>;
  /** "wasm", unless it is said: protobuf, prediction, everything moves evenly by itself. "json": readable messages, where
   * WebAssembly is not allowed; nothing is predicted. Or one of your own. */
  readonly core?: CoreKind | ((room: RoomChoice | undefined) => Core);
  /** Where the core's WASM file is, where it cannot be found beside this module: its address, its bytes, or the module. */
  readonly wasm?: WasmSource;
  /** For the core "json", by channel: the fields that move evenly, such as `{ movement: { position: "linear" } }`. */
  readonly motions?: Readonly<Record<string, Motions>>;
  /** The class of WebSockets, where there is none: in Node.js 20. */
  readonly webSocket?: WebSocketClass;
  /** What tells that someone looks again; the page's own occasions, unless it is said. */
  readonly attention?: Attention;
}

/** The cores that come with this package. */
export type CoreKind = "wasm" | "json";

/** What joining needs besides. */
export interface JoinParts {
  readonly server: Server;
  /** The server's origin. */
  readonly url: string;
  readonly time: Time;
  /** An access token; a fresh one if the last was not accepted. */
  readonly token: (isFresh: boolean) => Promise<string | undefined>;
}

/** How long joining may take, unless it is said. It is tried again and again in that time. */
const JOIN_MS_MAX = 20_000;

/** How long the server may take to say where WebTransport is, before WebSocket is taken instead. */
const INFO_MS_MAX = 2_000;

/** Joins a room; resolves when the player is in it. */
export async function joinRoom<Input extends object = Fields>(
  parts: JoinParts,
  choice: RoomChoice | string | undefined,
  options: JoinOptions = {},
): Promise<Room<Input>> {
  const { time } = parts;
  const room = typeof choice === "string" ? { type: { name: choice } } : choice;
  const ways = {
    webSocket: webSocketAt(`${parts.url.replace(/^http/, "ws")}/rt`, options.webSocket),
    webTransport: () => webTransportOf(parts),
  };
  const joined = new Room<Input>({
    core: await coreOf(room, options, time),
    choice: new Choice(options.transport ?? "auto", ways, time),
    token: parts.token,
    time,
    attention: options.attention ?? pageAttention,
  });
  await untilJoined(joined, options, time);
  return joined;
}

async function coreOf(room: RoomChoice | undefined, options: JoinOptions, time: Time): Promise<() => Core> {
  const { core = "wasm", motions } = options;
  if (typeof core === "function") return () => core(room);
  if (core === "json") return () => new JsonCore({ room, motions, time });
  const module = await loadWasm(options.wasm);
  return () => new WasmCore(module, { room, rules: options.rules as Rules | undefined, time });
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
    const late = (): void => settle(new Refusal("timed_out", lastError ?? "The room could not be joined in time."));
    const stops = [
      room.on("joined", () => settle(undefined)),
      room.on("error", ({ text }) => void (lastError = text)),
      room.on("ended", ({ reason, text }) => settle(new Refusal(reason, text))),
      time.after(options.timeoutMs ?? JOIN_MS_MAX, late),
      () => options.signal?.removeEventListener("abort", aborted),
    ];
    if (options.signal?.aborted === true) return aborted();
    options.signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** The certificate's hash changes while a server runs, so it is asked for each time. */
async function webTransportOf({ server, url }: JoinParts): Promise<OpenTransport | undefined> {
  if (!hasWebTransport()) return undefined;
  const info: ServerInfo = await server.info({ timeoutMs: INFO_MS_MAX });
  return info.webTransport === null ? undefined : webTransportAt(info.webTransport, url);
}
