// Remote values: settings of the game that operators change without a new version of it.

import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import type { JsonObject } from "./values.ts";

export interface RemoteValueOptions extends CallOptions {
  /** Keys of the values, up to 100; all by default. Unknown keys are left out. */
  readonly keys?: readonly string[];
}

/** Last answer for a set of keys. */
interface Known {
  readonly userId: string | undefined;
  readonly hash: string;
  readonly values: JsonObject;
}

/** Sets of keys whose last answers are kept. */
const KNOWN_MAX = 16;

export class RemoteValues {
  private readonly session: Session;
  private readonly known = new Map<string, Known>();

  constructor(session: Session) {
    this.session = session;
  }

  /**
   * Returns the player's values by key. Rules of the server may give players other values. Values that have not changed since
   * the last call are not sent again.
   */
  async read<Values = JsonObject>(options: RemoteValueOptions = {}): Promise<Partial<Values>> {
    const keys = [...(options.keys ?? [])].sort();
    const known = this.known.get(keys.join("\n"));
    // Another user may have other values.
    await this.session.token(options);
    const userId = this.session.identity?.userId;
    const query = { keys, hash: known?.userId === userId ? known?.hash : undefined };
    const call = { method: "GET", path: "/v2/values", query, isIdempotent: true } as const;
    const { values = {}, hash = "", unchanged = false } = await this.session.call<WireValues>(call, options);
    if (unchanged && known !== undefined) return { ...known.values } as Partial<Values>;
    this.keep(keys.join("\n"), { userId, hash, values });
    return { ...values } as Partial<Values>;
  }

  /** Returns one value, or the given one if the server has none. */
  async value<Value>(key: string, otherwise: Value, options?: CallOptions): Promise<Value> {
    const values = await this.read<Record<string, Value>>({ ...options, keys: [key] });
    return values[key] ?? otherwise;
  }

  private keep(name: string, known: Known): void {
    this.known.delete(name);
    this.known.set(name, known);
    const [oldest] = this.known.keys();
    if (this.known.size > KNOWN_MAX && oldest !== undefined) this.known.delete(oldest);
  }
}

interface WireValues {
  readonly values?: JsonObject;
  readonly hash?: string;
  readonly unchanged?: boolean;
}
