// Which transport is used: WebTransport where it can be had soon, else WebSocket.

import { Refusal } from "../../refusal.ts";
import type { Time } from "../../time.ts";
import type { Encoding, OpenTransport, Transport, TransportEvents, TransportKind } from "./transport.ts";

/** What a game wants: the better one that works, or a certain one. */
export type TransportWish = "auto" | TransportKind;

/** The ways to open transports. */
export interface Ways {
  readonly webSocket: OpenTransport;
  /** How WebTransport is opened, if this side and the server have it. It may have to be asked for. */
  readonly webTransport: () => Promise<OpenTransport | undefined>;
}

/** How long WebTransport may take before WebSocket is taken instead: three round trips over a slow network. */
const WEBTRANSPORT_OPEN_MS_MAX = 3_000;

/** How long a transport may take that nothing stands in for. */
const OPEN_MS_MAX = 8_000;

/** A network that let no WebTransport through is not asked again for this long. */
const FAILURE_MS = 300_000;

export class Choice {
  wish: TransportWish;
  private readonly ways: Ways;
  private readonly time: Time;
  private failedMs: number | undefined;

  constructor(wish: TransportWish, ways: Ways, time: Time) {
    this.wish = wish;
    this.ways = ways;
    this.time = time;
  }

  /** Opens the best transport that there is. */
  async open(encoding: Encoding, events: TransportEvents, signal: AbortSignal): Promise<Transport> {
    const webTransport = await this.webTransport();
    if (webTransport === undefined) return this.within(OPEN_MS_MAX, this.ways.webSocket, encoding, events, signal);
    const isOnly = this.wish === "webtransport";
    try {
      return await this.within(isOnly ? OPEN_MS_MAX : WEBTRANSPORT_OPEN_MS_MAX, webTransport, encoding, events, signal);
    } catch (error) {
      if (isOnly || signal.aborted) throw error;
      this.failed("webtransport");
      return this.within(OPEN_MS_MAX, this.ways.webSocket, encoding, events, signal);
    }
  }

  /** A transport did not lead into a room, though it seemed to open. */
  failed(kind: TransportKind): void {
    if (kind === "webtransport") this.failedMs = this.time.nowMs();
  }

  /** The network may be another one by now. */
  forgetFailures(): void {
    this.failedMs = undefined;
  }

  private async webTransport(): Promise<OpenTransport | undefined> {
    if (this.wish === "websocket") return undefined;
    if (this.wish === "auto" && this.failedMs !== undefined && this.time.nowMs() - this.failedMs < FAILURE_MS) return undefined;
    const found = await this.ways.webTransport().catch((error: unknown) => {
      if (this.wish === "webtransport") throw error;
      // Where it is is not known; WebSocket needs no more than the server's address.
      this.failed("webtransport");
      return undefined;
    });
    if (found !== undefined || this.wish === "auto") return found;
    throw new Refusal("unsupported", "WebTransport is wanted, and this page or the server does not have it.");
  }

  private async within(
    milliseconds: number,
    open: OpenTransport,
    encoding: Encoding,
    events: TransportEvents,
    signal: AbortSignal,
  ): Promise<Transport> {
    const ending = new AbortController();
    const abort = (): void => ending.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    const late = new Refusal("timed_out", "The server did not answer in time.");
    const cancel = this.time.after(milliseconds, () => ending.abort(late));
    try {
      return await open(encoding, events, ending.signal);
    } finally {
      cancel();
      signal.removeEventListener("abort", abort);
    }
  }
}
