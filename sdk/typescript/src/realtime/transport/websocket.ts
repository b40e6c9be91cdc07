// WebSocket transport: ordered and reliable, one WebSocket message each.

import { AetherError } from "../../error.ts";
import {
  type Encoding,
  LOST,
  MESSAGE_BYTES_MAX,
  type OpenTransport,
  RELIABLE_WAITING_BYTES_MAX,
  STUCK,
  type Transport,
  type TransportEnd,
  type TransportEvents,
  UNRELIABLE_WAITING_BYTES_MAX,
} from "./transport.ts";

/** WebSocket constructor: the browser's, that of Node.js 22 or newer, or that of a package such as `ws`. */
export type WebSocketClass = new (url: string, protocols?: string) => WebSocket;

/** Opens WebSockets of rooms at a URL such as `wss://play.example.com/rt`. */
export function webSocketAt(url: string, given?: WebSocketClass): OpenTransport {
  return (encoding, events, signal) => opener(url, `aether.v2.${encoding}`, given)(encoding, events, signal);
}

/** Opens WebSockets without a subprotocol, at a URL such as `wss://play.example.com/ws`. */
export function plainWebSocketAt(url: string, given?: WebSocketClass): OpenTransport {
  return opener(url, undefined, given);
}

function opener(url: string, subprotocol: string | undefined, given: WebSocketClass | undefined): OpenTransport {
  return (encoding, events, signal) =>
    new Promise((resolve, reject) => {
      const WebSocketClass = given ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
      if (WebSocketClass === undefined) return reject(new AetherError("unsupported", NO_WEBSOCKET));
      if (signal.aborted) return reject(signal.reason as Error);
      const socket = new WebSocketClass(url, subprotocol);
      socket.binaryType = "arraybuffer";
      let transport: WebSocketTransport | undefined;
      const aborted = (): void => {
        reject(signal.reason as Error);
        socket.close();
      };
      signal.addEventListener("abort", aborted, { once: true });
      const unopened = (): void => {
        signal.removeEventListener("abort", aborted);
        reject(new AetherError("unreachable", "The server cannot be reached; check its URL and the network."));
      };
      socket.onopen = () => {
        signal.removeEventListener("abort", aborted);
        transport = new WebSocketTransport(socket, encoding, events);
        resolve(transport);
      };
      socket.onmessage = (event: MessageEvent<unknown>) => transport?.receive(event.data);
      // The cause is only in the browser's console. In a browser `onclose` follows, but in Node.js 20 not always.
      socket.onerror = () => {
        if (transport === undefined) unopened();
      };
      socket.onclose = (event) => {
        const code = event.code === NO_CLOSE_FRAME ? undefined : event.code;
        if (transport !== undefined) transport.end({ code, text: event.reason !== "" ? event.reason : LOST.text });
        else unopened();
      };
    });
}

const NO_WEBSOCKET =
  "There is no WebSocket class: use Node.js 22 or newer, or start Node.js 20 with --experimental-websocket, or pass a class as `webSocket`.";

/** Close code that stands for a missing close frame. */
const NO_CLOSE_FRAME = 1006;

class WebSocketTransport implements Transport {
  readonly kind = "websocket";
  readonly link = "ordered";
  private readonly socket: WebSocket;
  private readonly encoding: Encoding;
  private readonly events: TransportEvents;
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();
  private ended = false;

  constructor(socket: WebSocket, encoding: Encoding, events: TransportEvents) {
    this.socket = socket;
    this.encoding = encoding;
    this.events = events;
  }

  get waitingBytes(): number {
    return this.socket.bufferedAmount;
  }

  sendReliable(bytes: Uint8Array): void {
    if (this.ended || this.socket.readyState !== OPEN) return;
    if (this.waitingBytes > RELIABLE_WAITING_BYTES_MAX) return this.end(STUCK);
    // The server accepts JSON only in text messages.
    if (this.encoding === "json") this.socket.send(this.decoder.decode(bytes));
    else this.socket.send(bytes as Uint8Array<ArrayBuffer>);
  }

  sendUnreliable(bytes: Uint8Array): void {
    if (this.waitingBytes <= UNRELIABLE_WAITING_BYTES_MAX) this.sendReliable(bytes);
  }

  close(text = "You closed the connection."): void {
    this.end({ code: 1000, text });
  }

  receive(data: unknown): void {
    if (this.ended) return;
    const bytes = typeof data === "string" ? this.encoder.encode(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : undefined;
    if (bytes === undefined || bytes.length > MESSAGE_BYTES_MAX) return this.end({ code: undefined, text: "The server sent an invalid message." });
    this.events.message(bytes);
  }

  end(end: TransportEnd): void {
    if (this.ended) return;
    this.ended = true;
    this.socket.close(1000);
    this.events.closed(end);
  }
}

/** `WebSocket.OPEN`, which a given class may lack. */
const OPEN = 1;
