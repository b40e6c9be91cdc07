// The WebTransport transport: one stream for what must arrive, datagrams for what may be lost.

import type { WebTransportPlace } from "../api.ts";
import { SERVER_MESSAGE_BYTES_MAX } from "../protocol.ts";
import { FrameReader, frame } from "./frames.ts";
import type { Transport, TransportEvents } from "./transport.ts";

/** How long opening may take. */
const OPEN_MS_MAX = 8_000;

/** The longest datagram that every browser sends whole. */
const DATAGRAM_BYTES_MAX = 1_024;

/** Hosts that name no machine in particular. */
const NAMELESS = /^(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;

/** Whether this browser has WebTransport; it is offered to secure pages only, this machine's own among them. */
export function hasWebTransport(): boolean {
  return "WebTransport" in globalThis;
}

/** Opens a session and its one stream, and resolves once both can be used. */
export async function openWebTransport(place: WebTransportPlace, events: TransportEvents): Promise<Transport> {
  const url = addressOf(place);
  const session = new WebTransport(url.href, options(place));
  // It rejects with the same error as `ready`; once open, it is listened to below.
  session.closed.catch(() => undefined);
  try {
    await within(session.ready, OPEN_MS_MAX);
    const stream = await within(session.createBidirectionalStream(), OPEN_MS_MAX);
    return new WebTransportTransport(session, stream, events);
  } catch {
    session.close();
    throw new Error("WebTransport cannot reach the server; UDP may be blocked on the way.");
  }
}

class WebTransportTransport implements Transport {
  readonly kind = "webtransport";
  readonly unreliable = true;
  private readonly session: WebTransport;
  private readonly events: TransportEvents;
  private readonly stream: WritableStreamDefaultWriter<Uint8Array>;
  private readonly datagrams: WritableStreamDefaultWriter<Uint8Array>;
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();
  private ended = false;

  constructor(session: WebTransport, stream: WebTransportBidirectionalStream, events: TransportEvents) {
    this.session = session;
    this.events = events;
    this.stream = stream.writable.getWriter();
    this.datagrams = datagramWriter(session.datagrams);
    const over = (): void => this.end("The connection was lost.");
    session.closed.then((info) => this.end(info.reason !== undefined && info.reason !== "" ? info.reason : "The connection was lost."), over);
    this.readStream(stream.readable).then(over, over);
    this.readDatagrams(session.datagrams.readable).then(over, over);
  }

  sendReliable(text: string): number {
    const framed = frame(this.encoder.encode(text));
    this.stream.write(framed).catch(() => undefined);
    return framed.length;
  }

  sendUnreliable(text: string): number {
    const bytes = this.encoder.encode(text);
    if (bytes.length > DATAGRAM_BYTES_MAX) return this.sendReliable(text);
    this.datagrams.write(bytes).catch(() => undefined);
    return bytes.length;
  }

  close(): void {
    this.end("You closed the connection.");
  }

  private async readStream(readable: ReadableStream<Uint8Array>): Promise<void> {
    const frames = new FrameReader(SERVER_MESSAGE_BYTES_MAX);
    const reader = readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const message of frames.push(value)) this.events.message(this.decoder.decode(message), message.length);
    }
  }

  private async readDatagrams(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.events.message(this.decoder.decode(value), value.length);
    }
  }

  private end(why: string): void {
    if (this.ended) return;
    this.ended = true;
    try {
      this.session.close();
    } catch {
      // It had ended by itself, which is all that is wanted.
    }
    this.events.closed(why);
  }
}

/** Where the session is opened. A server that listens on all of a machine's addresses, or only on the machine itself,
 * does not know by which name it was found; the page does. */
function addressOf(place: WebTransportPlace): URL {
  const url = new URL(place.url);
  // Browsers try IPv6 alone for this name, where a server on the machine itself usually does not listen.
  const here = location.hostname === "localhost" ? "127.0.0.1" : location.hostname;
  if (NAMELESS.test(url.hostname)) url.hostname = here;
  url.searchParams.set("encoding", "json");
  return url;
}

/** The newest browsers make a writer for datagrams on request; the others have one stream for all. */
function datagramWriter(datagrams: WebTransportDatagramDuplexStream): WritableStreamDefaultWriter<Uint8Array> {
  const newest = datagrams as WebTransportDatagramDuplexStream & { createWritable?: () => WritableStream<Uint8Array> };
  const stream = newest.createWritable === undefined ? newest.writable : newest.createWritable();
  return stream.getWriter();
}

function options(place: WebTransportPlace): WebTransportOptions {
  if (place.certificateHash === undefined) return {};
  const value = Uint8Array.from(atob(place.certificateHash), (character) => character.charCodeAt(0));
  return { serverCertificateHashes: [{ algorithm: "sha-256", value }] };
}

function within<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => reject(new Error("It took too long.")), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(deadline));
  });
}
