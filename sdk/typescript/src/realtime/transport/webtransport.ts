// The WebTransport transport: one stream for what must arrive, datagrams for what may be lost.

import { Refusal } from "../../refusal.ts";
import type { WebTransportPlace } from "../../services/server.ts";
import { FrameReader, frame } from "./frames.ts";
import {
  LOST,
  MESSAGE_BYTES_MAX,
  type OpenTransport,
  RELIABLE_WAITING_BYTES_MAX,
  STUCK,
  type Transport,
  type TransportEnd,
  type TransportEvents,
} from "./transport.ts";

/** The longest datagram that every browser sends whole. */
const DATAGRAM_BYTES_MAX = 1_024;

/** Datagrams that wait to leave. The newest alone would matter. */
const DATAGRAMS_WAITING_MAX = 16;

/** Hosts that name no machine in particular. */
const NAMELESS = /^(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;

/** Whether there is WebTransport here; browsers offer it to secure pages only, this machine's own among them. */
export function hasWebTransport(): boolean {
  return "WebTransport" in globalThis;
}

/** Opens sessions at the place that `server.info()` names, of the server that is reached at `serverUrl`. */
export function webTransportAt(place: WebTransportPlace, serverUrl: string): OpenTransport {
  return async (encoding, events, signal) => {
    if (!hasWebTransport()) throw new Refusal("unsupported", "There is no WebTransport here.");
    const session = new WebTransport(addressOf(place, serverUrl, encoding).href, options(place));
    const end = (): void => close(session);
    signal.addEventListener("abort", end, { once: true });
    // It rejects with the same error as `ready`; once open, it is listened to by the transport.
    session.closed.catch(() => undefined);
    try {
      signal.throwIfAborted();
      await session.ready;
      return new WebTransportTransport(session, await session.createBidirectionalStream(), events);
    } catch {
      end();
      throw signal.aborted ? signal.reason : new Refusal("unreachable", "WebTransport cannot reach the server; UDP may be blocked on the way.");
    } finally {
      signal.removeEventListener("abort", end);
    }
  };
}

class WebTransportTransport implements Transport {
  readonly kind = "webtransport";
  readonly link = "unordered";
  waitingBytes = 0;
  private readonly session: WebTransport;
  private readonly events: TransportEvents;
  private readonly stream: WritableStreamDefaultWriter<Uint8Array>;
  private readonly datagrams: WritableStreamDefaultWriter<Uint8Array>;
  private datagramsWaiting = 0;
  private ended = false;

  constructor(session: WebTransport, stream: WebTransportBidirectionalStream, events: TransportEvents) {
    this.session = session;
    this.events = events;
    this.stream = stream.writable.getWriter();
    this.datagrams = datagramWriter(session.datagrams);
    const over = (): void => this.end(LOST);
    session.closed.then(({ closeCode, reason }) => this.end({ code: closeCode, text: reason || LOST.text }), over);
    this.readStream(stream.readable).then(() => this.endSoon(), over);
    this.readDatagrams(session.datagrams.readable).then(() => this.endSoon(), over);
  }

  sendReliable(bytes: Uint8Array): void {
    if (this.ended) return;
    if (this.waitingBytes > RELIABLE_WAITING_BYTES_MAX) return this.end(STUCK);
    const framed = frame(bytes);
    this.waitingBytes += framed.length;
    const left = (): void => void (this.waitingBytes -= framed.length);
    this.stream.write(framed).then(left, left);
  }

  sendUnreliable(bytes: Uint8Array): void {
    if (bytes.length > DATAGRAM_BYTES_MAX) return this.sendReliable(bytes);
    if (this.ended || this.datagramsWaiting >= DATAGRAMS_WAITING_MAX) return;
    this.datagramsWaiting += 1;
    const left = (): void => void (this.datagramsWaiting -= 1);
    this.datagrams.write(bytes).then(left, left);
  }

  close(text = "You closed the connection."): void {
    this.end({ code: 0, text });
  }

  private async readStream(readable: ReadableStream<Uint8Array>): Promise<void> {
    const frames = new FrameReader(MESSAGE_BYTES_MAX);
    const reader = readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.ended) return;
      for (const message of frames.push(value)) if (!this.ended) this.events.message(message);
    }
  }

  private async readDatagrams(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = readable.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.ended) return;
      this.events.message(value, false);
    }
  }

  /** The stream has ended; the session's own end, which says why, is on its way. */
  private endSoon(): void {
    setTimeout(() => this.end(LOST), 100);
  }

  private end(end: TransportEnd): void {
    if (this.ended) return;
    this.ended = true;
    close(this.session);
    this.events.closed(end);
  }
}

function close(session: WebTransport): void {
  try {
    session.close();
  } catch {
    // It had ended by itself, which is all that is wanted.
  }
}

/** Where the session is opened. A server that listens on all of a machine's addresses, or only on the machine itself,
 * does not know by which name it was found; whoever found it does. */
function addressOf(place: WebTransportPlace, serverUrl: string, encoding: string): URL {
  const url = new URL(place.url);
  const { hostname } = new URL(serverUrl);
  // Browsers try IPv6 alone for this name, where a server on the machine itself usually does not listen.
  if (NAMELESS.test(url.hostname)) url.hostname = hostname === "localhost" ? "127.0.0.1" : hostname;
  url.searchParams.set("encoding", encoding);
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
