// Profiles: the characters of a user.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, defined, toDate } from "./values.ts";

export interface Profile<Data = JsonObject> {
  readonly id: string;
  readonly name: string;
  readonly data: Data;
  /** Whether it is the one that plays. */
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export class Profiles {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** All of one's own, the oldest first. */
  async list<Data = JsonObject>(options?: CallOptions): Promise<Profile<Data>[]> {
    const call = { method: "GET", path: "/v2/profile", isIdempotent: true } as const;
    return (await this.session.call<{ profiles: WireProfile[] }>(call, options)).profiles.map((profile) => profileOf<Data>(profile));
  }

  /** Makes one; the id is made up unless it is given. */
  async create<Data extends object = JsonObject>(
    profile: { readonly name: string; readonly id?: string; readonly data?: Data },
    options?: CallOptions,
  ): Promise<Profile<Data>> {
    return profileOf(await this.session.call({ method: "POST", path: "/v2/profile", body: profile }, options));
  }

  /** Changes what is named. */
  async update<Data extends object = JsonObject>(
    id: string,
    change: { readonly name?: string; readonly data?: Data },
    options?: CallOptions,
  ): Promise<Profile<Data>> {
    const call = { method: "PUT", path: path`/v2/profile/${id}`, body: defined(change), isIdempotent: true } as const;
    return profileOf(await this.session.call(call, options));
  }

  /** Makes it the one that plays. */
  async select<Data = JsonObject>(id: string, options?: CallOptions): Promise<Profile<Data>> {
    return profileOf(await this.session.call({ method: "POST", path: path`/v2/profile/${id}/select`, isIdempotent: true }, options));
  }

  /** Deletes one; resolves with the id of the one that plays then. */
  async delete(id: string, options?: CallOptions): Promise<string> {
    const call = { method: "DELETE", path: path`/v2/profile/${id}` } as const;
    return (await this.session.call<{ active: string }>(call, options)).active;
  }
}

interface WireProfile {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly active: boolean;
  readonly create_time: string;
  readonly update_time: string;
}

function profileOf<Data>(profile: WireProfile): Profile<Data> {
  return {
    id: profile.id,
    name: profile.name,
    data: profile.data as Data,
    isActive: profile.active,
    createdAt: toDate(profile.create_time),
    updatedAt: toDate(profile.update_time),
  };
}
