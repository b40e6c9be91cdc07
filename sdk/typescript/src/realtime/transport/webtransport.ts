// WebTransport transport: one stream for reliable messages, datagrams for unreliable ones.

import { fromBase64 } from "../../base64.ts";
import { AetherError } from "../../error.ts";
import type { WebTransportAddress } from "../../services/server.ts";
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

/** Longest datagram that every browser sends in one piece. */
const DATAGRAM_BYTES_MAX = 1_024;

/** Maximum number of queued datagrams: only the newest would matter. */
const DATAGRAMS_WAITING_MAX = 16;

/** Host names that mean the local machine or all its addresses. */
const LOCAL_HOST = /^(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;

/** Returns whether this environment has WebTransport. Browsers offer it only to secure pages and localhost. */
export function hasWebTransport(): boolean {
  return "WebTransport" in globalThis;
}

/** Opens sessions at the address that `server.info()` returned, of the server at `serverUrl`. */
export function webTransportAt(address: WebTransportAddress, serverUrl: string): OpenTransport {
  return async (encoding, events, signal) => {
    if (!hasWebTransport()) throw new AetherError("unsupported", "This environment has no WebTransport.");
    const session = new WebTransport(addressOf(address, serverUrl, encoding).href, options(address));
    const end = (): void => close(session);
    signal.addEventListener("abort", end, { once: true });
    // `closed` rejects with the same error as `ready`; once open, the transport handles it.
    session.closed.catch(() => undefined);
    try {
      signal.throwIfAborted();
      await session.ready;
      return new WebTransportTransport(session, await session.createBidirectionalStream(), events);
    } catch {
      end();
      throw signal.aborted ? signal.reason : new AetherError("unreachable", "WebTransport cannot reach the server; a firewall may block UDP.");
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

  /** The stream has ended. The session's close, which carries the reason, follows. */
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
    // The session had ended already.
  }
}

/**
 * Returns the URL of a session. A server that listens on all addresses, or on localhost, does not know its public name,
 * so the name in `serverUrl` is used.
 */
function addressOf(address: WebTransportAddress, serverUrl: string, encoding: string): URL {
  const url = new URL(address.url);
  const { hostname } = new URL(serverUrl);
  // Browsers try only IPv6 for `localhost`, where a local server usually does not listen.
  if (LOCAL_HOST.test(url.hostname)) url.hostname = hostname === "localhost" ? "127.0.0.1" : hostname;
  url.searchParams.set("encoding", encoding);
  return url;
}

/** Newer browsers create a datagram writer on request; others have one stream. */
function datagramWriter(datagrams: WebTransportDatagramDuplexStream): WritableStreamDefaultWriter<Uint8Array> {
  const newest = datagrams as WebTransportDatagramDuplexStream & { createWritable?: () => WritableStream<Uint8Array> };
  const stream = newest.createWritable === undefined ? newest.writable : newest.createWritable();
  return stream.getWriter();
}

function options(address: WebTransportAddress): WebTransportOptions {
  if (address.certificateHash === undefined) return {};
  const value = fromBase64(address.certificateHash);
  return { serverCertificateHashes: [{ algorithm: "sha-256", value }] };
}
