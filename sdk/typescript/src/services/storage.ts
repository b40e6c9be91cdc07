// Storage: objects by collection, key and owner, each a JSON object.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, defined, toDate, toJson } from "./values.ts";

/** Who may read an object. */
export type ReadPermission = "nobody" | "owner" | "everyone";

/** Who may write an object; "everyone" may change one that is there. */
export type WritePermission = "nobody" | "owner" | "everyone";

const PERMISSIONS = ["nobody", "owner", "everyone"] as const;

/** Where an object is. Without a user it is one's own. */
export interface ObjectPlace {
  readonly collection: string;
  readonly key: string;
  readonly userId?: string;
}

export interface StoredObject<Value = JsonObject> {
  readonly collection: string;
  readonly key: string;
  readonly userId: string;
  readonly value: Value;
  /** Changes with the value. */
  readonly version: string;
  readonly read: ReadPermission;
  readonly write: WritePermission;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface WriteOptions {
  /** Only if the object still has this version, or "*": only if there is none yet. */
  readonly version?: string;
  /** The owner, unless it is said. */
  readonly read?: ReadPermission;
  /** The owner, unless it is said. */
  readonly write?: WritePermission;
}

/** One object of several to write. */
export interface ObjectWrite<Value extends object = JsonObject> extends WriteOptions {
  readonly collection: string;
  readonly key: string;
  readonly value: Value;
}

/** What was written. */
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
  /** Where the next page begins; absent on the last. */
  readonly cursor: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Whose objects; without it, everyone's that everyone may read. */
  readonly userId?: string;
  /** 1 to 100; 100 unless it is said. */
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGE_OBJECTS = 100;

export class Storage {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Reads one object, one's own unless another user is named; nothing if there is none that one may read. */
  async read<Value = JsonObject>(
    collection: string,
    key: string,
    options: CallOptions & { readonly userId?: string } = {},
  ): Promise<StoredObject<Value> | undefined> {
    const place = options.userId === undefined ? { collection, key } : { collection, key, userId: options.userId };
    return (await this.readAll<Value>([place], options))[0];
  }

  /** Reads several objects; those that are not there are left out. */
  async readAll<Value = JsonObject>(places: readonly ObjectPlace[], options?: CallOptions): Promise<StoredObject<Value>[]> {
    // The token says who one is, and it may not be there before it was asked for.
    if (places.some((place) => place.userId === undefined)) await this.session.token(options);
    const own = this.session.identity?.userId;
    const object_ids = places.map(({ collection, key, userId = own }) => ({ collection, key, user_id: userId }));
    const call = { method: "POST", path: "/v2/storage", body: { object_ids }, isIdempotent: true } as const;
    const found = await this.session.call<{ objects?: WireObject[] }>(call, options);
    return (found.objects ?? []).map((object) => objectOf<Value>(object));
  }

  /** Writes one of one's own objects. */
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
    // A second write by a version would be refused because of the first.
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

  /** Deletes one of one's own objects; with a version, only if it still has it. */
  async delete(collection: string, key: string, options: CallOptions & { readonly version?: string } = {}): Promise<void> {
    await this.deleteAll([defined({ collection, key, version: options.version })], options);
  }

  /** Deletes several objects, all or none. */
  async deleteAll(
    places: readonly { readonly collection: string; readonly key: string; readonly version?: string | undefined }[],
    options?: CallOptions,
  ): Promise<void> {
    const isIdempotent = places.every((place) => place.version === undefined);
    const call = { method: "PUT", path: "/v2/storage/delete", body: { object_ids: places }, isIdempotent } as const;
    await this.session.call(call, options);
  }

  /** A page of a collection's objects. */
  async list<Value = JsonObject>(collection: string, options: ListOptions = {}): Promise<ObjectPage<Value>> {
    const { userId, limit = PAGE_OBJECTS, cursor } = options;
    const call = { method: "GET", path: path`/v2/storage/${collection}`, query: { user_id: userId, limit, cursor }, isIdempotent: true } as const;
    const found = await this.session.call<{ objects?: WireObject[]; cursor?: string }>(call, options);
    return { objects: (found.objects ?? []).map((object) => objectOf<Value>(object)), cursor: found.cursor };
  }

  /** All of a collection's objects, page by page as they are asked for. */
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
