// Changes of remote values, told over the socket.

import type { CallOptions } from "../services/requests.ts";
import { toObject } from "../services/values.ts";
import type { RequestOptions } from "./connection.ts";
import type { SocketContext, StreamName } from "./events.ts";

/** Mode of the stream of the changes. */
const STREAM_MODE = 10;

export class ValueWatch {
  private readonly context: SocketContext;
  private isOn = false;

  constructor(context: SocketContext) {
    this.context = context;
  }

  /** True if changes are told; also while the connection is lost. */
  get isWatching(): boolean {
    return this.isOn;
  }

  /** Asks for changes, which follow as `remote_value`. Read the values afterwards, with `client.remoteValues`. */
  async watch(options?: CallOptions): Promise<void> {
    await this.call("remote_values_watch", { ...options });
    this.isOn = true;
  }

  async unwatch(options?: CallOptions): Promise<void> {
    this.isOn = false;
    // Without a connection the server has forgotten it already.
    if (this.context.connection.phase === "connected") await this.call("remote_values_unwatch", { ...options });
  }

  /** Asks again after a lost connection. */
  async restore(): Promise<void> {
    if (this.isOn) await this.call("remote_values_watch", { isRestoring: true });
  }

  /** Handles data of a stream. Returns false if it is another stream. */
  handle(stream: StreamName, data: string): boolean {
    if (stream.mode !== STREAM_MODE) return false;
    const { key, version } = toObject(data);
    if (typeof key === "string") this.context.emit({ kind: "remote_value", key, version: typeof version === "number" ? version : undefined });
    return true;
  }

  private call(id: string, options: RequestOptions): Promise<void> {
    return this.context.connection.request({ rpc: { id } }, { read: () => undefined }, options);
  }
}
