// Storage: JSON objects by collection, key and owner.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, defined, toDate, toJson } from "./values.ts";

/** Readers of an object. */
export type ReadPermission = "nobody" | "owner" | "everyone";

/** Writers of an object; "everyone" may change one that exists. */
export type WritePermission = "nobody" | "owner" | "everyone";

const PERMISSIONS = ["nobody", "owner", "everyone"] as const;

/** Identifies an object. Without a user id, the player's own. */
export interface ObjectId {
  readonly collection: string;
  readonly key: string;
  readonly userId?: string;
}

export interface StoredObject<Value = JsonObject> {
  readonly collection: string;
  readonly key: string;
  readonly userId: string;
  readonly value: Value;
  /** Changes with every write of another value. */
  readonly version: string;
  readonly read: ReadPermission;
  readonly write: WritePermission;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface WriteOptions {
  /** Writes only if the object still has this version; with "*", only if it does not exist. */
  readonly version?: string;
  /** "owner" by default. */
  readonly read?: ReadPermission;
  /** "owner" by default. */
  readonly write?: WritePermission;
}

/** One of several objects to write. */
export interface ObjectWrite<Value extends object = JsonObject> extends WriteOptions {
  readonly collection: string;
  readonly key: string;
  readonly value: Value;
}

/** Acknowledgement of a write. */
export interface Written {
  readonly collection: string;
  readonly key: string;
  readonly userId: string;
  readonly version: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface ObjectPage<Value = JsonObject> {
  readonly objects: readonly StoredObject<Value>[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Owner of the objects. Without it, the list holds public objects of all users. */
  readonly userId?: string;
  /** 1 to 100; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGE_OBJECTS = 100;

export class Storage {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /**
   * Reads one object; by default one of the player's own. Resolves with undefined if it does not exist or is not
   * readable.
   */
  async read<Value = JsonObject>(
    collection: string,
    key: string,
    options: CallOptions & { readonly userId?: string } = {},
  ): Promise<StoredObject<Value> | undefined> {
    const object = options.userId === undefined ? { collection, key } : { collection, key, userId: options.userId };
    return (await this.readAll<Value>([object], options))[0];
  }

  /** Reads several objects. Missing ones are left out. */
  async readAll<Value = JsonObject>(ids: readonly ObjectId[], options?: CallOptions): Promise<StoredObject<Value>[]> {
    // The user id comes from the token, which may not have been read yet.
    if (ids.some((id) => id.userId === undefined)) await this.session.token(options);
    const own = this.session.identity?.userId;
    const object_ids = ids.map(({ collection, key, userId = own }) => ({ collection, key, user_id: userId }));
    const call = { method: "POST", path: "/v2/storage", body: { object_ids }, isIdempotent: true } as const;
    const found = await this.session.call<{ objects?: WireObject[] }>(call, options);
    return (found.objects ?? []).map((object) => objectOf<Value>(object));
  }

  /** Writes one of the player's own objects. */
  async write<Value extends object>(collection: string, key: string, value: Value, options: WriteOptions & CallOptions = {}): Promise<Written> {
    const { version, read, write } = options;
    const written = await this.writeAll([defined({ collection, key, value, version, read, write }) as ObjectWrite], options);
    return written[0] as Written;
  }

  /** Writes several objects, all or none. */
  async writeAll(writes: readonly ObjectWrite<object>[], options?: CallOptions): Promise<Written[]> {
    const objects = writes.map((write) =>
      defined({
        collection: write.collection,
        key: write.key,
        value: JSON.stringify(write.value),
        version: write.version,
        permission_read: write.read && PERMISSIONS.indexOf(write.read),
        permission_write: write.write && PERMISSIONS.indexOf(write.write),
      }),
    );
    // A repeated conditional write would fail because of the first one.
    const isIdempotent = writes.every((write) => write.version === undefined);
    const call = { method: "PUT", path: "/v2/storage", body: { objects }, isIdempotent } as const;
    const { acks = [] } = await this.session.call<{ acks?: WireAck[] }>(call, options);
    return acks.map((ack) => ({
      collection: ack.collection,
      key: ack.key,
      userId: ack.user_id,
      version: ack.version,
      createdAt: toDate(ack.create_time),
      updatedAt: toDate(ack.update_time),
    }));
  }

  /** Deletes one of the player's own objects; with a version, only if it still has that version. */
  async delete(collection: string, key: string, options: CallOptions & { readonly version?: string } = {}): Promise<void> {
    await this.deleteAll([defined({ collection, key, version: options.version })], options);
  }

  /** Deletes several objects, all or none. */
  async deleteAll(
    ids: readonly { readonly collection: string; readonly key: string; readonly version?: string | undefined }[],
    options?: CallOptions,
  ): Promise<void> {
    const isIdempotent = ids.every((id) => id.version === undefined);
    const call = { method: "PUT", path: "/v2/storage/delete", body: { object_ids: ids }, isIdempotent } as const;
    await this.session.call(call, options);
  }

  /** Returns a page of a collection's objects. */
  async list<Value = JsonObject>(collection: string, options: ListOptions = {}): Promise<ObjectPage<Value>> {
    const { userId, limit = PAGE_OBJECTS, cursor } = options;
    const call = { method: "GET", path: path`/v2/storage/${collection}`, query: { user_id: userId, limit, cursor }, isIdempotent: true } as const;
    const found = await this.session.call<{ objects?: WireObject[]; cursor?: string }>(call, options);
    return { objects: (found.objects ?? []).map((object) => objectOf<Value>(object)), cursor: found.cursor };
  }

  /** Yields all objects of a collection, requesting pages as needed. */
  async *all<Value = JsonObject>(collection: string, options: Omit<ListOptions, "cursor"> = {}): AsyncGenerator<StoredObject<Value>, void> {
    let cursor: string | undefined;
    do {
      const page: ObjectPage<Value> = await this.list<Value>(collection, cursor === undefined ? options : { ...options, cursor });
      yield* page.objects;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
}

interface WireAck {
  readonly collection: string;
  readonly key: string;
  readonly user_id: string;
  readonly version: string;
  readonly create_time: string;
  readonly update_time: string;
}

interface WireObject extends WireAck {
  readonly value?: string;
  readonly permission_read?: number;
  readonly permission_write?: number;
}

function objectOf<Value>(object: WireObject): StoredObject<Value> {
  return {
    collection: object.collection,
    key: object.key,
    userId: object.user_id,
    value: toJson<Value>(object.value),
    version: object.version,
    read: PERMISSIONS[object.permission_read ?? 0] ?? "nobody",
    write: PERMISSIONS[object.permission_write ?? 0] ?? "nobody",
    createdAt: toDate(object.create_time),
    updatedAt: toDate(object.update_time),
  };
}
