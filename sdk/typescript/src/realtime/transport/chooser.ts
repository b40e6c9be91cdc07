// Chooses a transport: WebTransport where it opens quickly, else WebSocket.

import { AetherError, isForeignOrigin } from "../../error.ts";
import type { Time } from "../../time.ts";
import type { Encoding, OpenTransport, Transport, TransportEvents, TransportKind } from "./transport.ts";

/** Preferred transport: the best one that works, or a certain one. */
export type TransportPreference = "auto" | TransportKind;

/** Functions that open each transport. */
export interface TransportOpeners {
  readonly webSocket: OpenTransport;
  /** Returns the opener of WebTransport, if this client and the server support it. It may ask the server first. */
  readonly webTransport: () => Promise<OpenTransport | undefined>;
}

/** Time limit for opening WebTransport before WebSocket is used instead: three round trips over a slow network. */
const WEBTRANSPORT_OPEN_MS_MAX = 3_000;

/** Time limit for opening a transport without a fallback. */
const OPEN_MS_MAX = 8_000;

/** After a failure, WebTransport is not tried again for this long. */
const FAILURE_MS = 300_000;

export class TransportChooser {
  preference: TransportPreference;
  private readonly openers: TransportOpeners;
  private readonly time: Time;
  private failedMs: number | undefined;

  constructor(preference: TransportPreference, openers: TransportOpeners, time: Time) {
    this.preference = preference;
    this.openers = openers;
    this.time = time;
  }

  /** @deprecated Use `preference`. */
  get wish(): TransportPreference {
    return this.preference;
  }

  set wish(preference: TransportPreference) {
    this.preference = preference;
  }

  /** Opens the best available transport. */
  async open(encoding: Encoding, events: TransportEvents, signal: AbortSignal): Promise<Transport> {
    const webTransport = await this.webTransport();
    if (webTransport === undefined) return this.within(OPEN_MS_MAX, this.openers.webSocket, encoding, events, signal);
    const isOnly = this.preference === "webtransport";
    try {
      return await this.within(isOnly ? OPEN_MS_MAX : WEBTRANSPORT_OPEN_MS_MAX, webTransport, encoding, events, signal);
    } catch (error) {
      if (isOnly || signal.aborted) throw error;
      this.failed("webtransport");
      return this.within(OPEN_MS_MAX, this.openers.webSocket, encoding, events, signal);
    }
  }

  /** Records a transport that opened but did not lead into a room. */
  failed(kind: TransportKind): void {
    if (kind === "webtransport") this.failedMs = this.time.nowMs();
  }

  /** Forgets failures, because the network may have changed. */
  forgetFailures(): void {
    this.failedMs = undefined;
  }

  private async webTransport(): Promise<OpenTransport | undefined> {
    if (this.preference === "websocket") return undefined;
    if (this.preference === "auto" && this.failedMs !== undefined && this.time.nowMs() - this.failedMs < FAILURE_MS) return undefined;
    const found = await this.openers.webTransport().catch((error: unknown) => {
      // A refused origin is refused over every transport.
      if (this.preference === "webtransport" || isForeignOrigin(error)) throw error;
      // Its address is unknown; WebSocket needs only the server's URL.
      this.failed("webtransport");
      return undefined;
    });
    if (found !== undefined || this.preference === "auto") return found;
    throw new AetherError("unsupported", `WebTransport was requested, but the browser or the server does not support it; use "auto" or "websocket".`);
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
    const late = new AetherError("timed_out", "The server did not answer in time.");
    const cancel = this.time.after(milliseconds, () => ending.abort(late));
    try {
      return await open(encoding, events, ending.signal);
    } finally {
      cancel();
      signal.removeEventListener("abort", abort);
    }
  }
}
