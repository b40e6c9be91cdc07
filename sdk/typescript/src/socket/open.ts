// Opening the services socket.

import { AetherError } from "../error.ts";
import { type Attention, pageAttention } from "../realtime/attention.ts";
import { TransportChooser } from "../realtime/transport/chooser.ts";
import { type WebSocketClass, plainWebSocketAt } from "../realtime/transport/websocket.ts";
import { ChatHistory, type SessionCall } from "../services/chat.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import type { ConnectionParts } from "./connection.ts";
import { Socket } from "./socket.ts";

export interface SocketOptions extends CallOptions {
  /** Own status, which shows the player online to followers. Without it, the player is not shown. */
  readonly status?: string;
  /** WebSocket class, where there is no global one: in Node.js 20. */
  readonly webSocket?: WebSocketClass;
  /** Source of events after which the connection is checked; by default those of the page. */
  readonly attention?: Attention;
  /** The server's `socket.message_bytes_max`: 65,536 by default. */
  readonly messageBytesMax?: number;
}

/** Parts of a client that the socket uses. */
export interface SocketParts {
  /** Origin of the server. */
  readonly url: string;
  readonly time: Time;
  /** Returns an access token; one that the server has accepted, if the last attempt failed. */
  readonly token: (isChecked: boolean) => Promise<string>;
  /** Reads the history of chat. */
  readonly session: SessionCall;
}

export { Socket };

/** Default time limit of opening, all attempts together. */
const OPEN_MS_MAX = 20_000;

const MESSAGE_BYTES_MAX = 65_536;

/** Opens the services socket; resolves when it is connected. */
export async function openSocket(parts: SocketParts, options: SocketOptions = {}): Promise<Socket> {
  const { time, token } = parts;
  const socketUrl = (access: string): string => `${parts.url.replace(/^http/, "ws")}/ws?format=json&token=${encodeURIComponent(access)}`;
  const open: ConnectionParts["open"] = (access, events, signal) => {
    const openers = { webSocket: plainWebSocketAt(socketUrl(access), options.webSocket), webTransport: async () => undefined };
    return new TransportChooser("websocket", openers, time).open("json", events, signal);
  };
  const { attention = pageAttention, messageBytesMax = MESSAGE_BYTES_MAX } = options;
  const socket = new Socket({ open, token, time, attention, messageBytesMax }, new ChatHistory(parts.session), options.status);
  await untilConnected(socket, options, time);
  return socket;
}

function untilConnected(socket: Socket, { signal, timeoutMs }: CallOptions, time: Time): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error: Error | undefined): void => {
      for (const stop of stops) stop();
      if (error === undefined) return resolve();
      socket.close();
      reject(error);
    };
    const aborted = (): void => settle(signal?.reason as Error);
    const late = (): void => settle(new AetherError("timed_out", socket.error?.message ?? "Opening the socket timed out."));
    const stops = [
      socket.on("connected", () => settle(undefined)),
      socket.on("ended", ({ reason, text }) => settle(new AetherError(reason, text))),
      time.after(timeoutMs ?? OPEN_MS_MAX, late),
      () => signal?.removeEventListener("abort", aborted),
    ];
    if (signal?.aborted === true) return aborted();
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
