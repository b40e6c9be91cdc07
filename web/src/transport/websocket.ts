// The WebSocket transport: everything in order, one message per frame.

import { SUBPROTOCOL } from "../protocol.ts";
import type { Transport, TransportEvents } from "./transport.ts";

/** How long opening may take. */
const OPEN_MS_MAX = 8_000;

/** With more than this waiting to be sent, inputs are left out: the newest alone would matter. */
const WAITING_BYTES_MAX = 65_536;

/** Opens a WebSocket and resolves once it can be used. */
export function openWebSocket(url: string, events: TransportEvents): Promise<Transport> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, SUBPROTOCOL);
    const deadline = setTimeout(() => socket.close(), OPEN_MS_MAX);
    let open = false;
    socket.onopen = () => {
      clearTimeout(deadline);
      open = true;
      resolve(new WebSocketTransport(socket));
    };
    socket.onmessage = (event: MessageEvent<unknown>) => {
      if (typeof event.data === "string") events.message(event.data, byteLength(event.data));
    };
    socket.onclose = (event) => {
      clearTimeout(deadline);
      const why = event.reason !== "" ? event.reason : "The connection was lost.";
      if (open) events.closed(why);
      else reject(new Error("The server cannot be reached."));
    };
  });
}

class WebSocketTransport implements Transport {
  readonly kind = "websocket";
  readonly unreliable = false;
  private readonly socket: WebSocket;

  constructor(socket: WebSocket) {
    this.socket = socket;
  }

  sendReliable(text: string): number {
    if (this.socket.readyState !== WebSocket.OPEN) return 0;
    this.socket.send(text);
    return byteLength(text);
  }

  sendUnreliable(text: string): number {
    return this.socket.bufferedAmount > WAITING_BYTES_MAX ? 0 : this.sendReliable(text);
  }

  close(): void {
    this.socket.close(1000);
  }
}

/** The bytes of a text in UTF-8. Nearly all texts are ASCII, for which the length is the answer. */
function byteLength(text: string): number {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) > 0x7f) return new TextEncoder().encode(text).length;
  }
  return text.length;
}
