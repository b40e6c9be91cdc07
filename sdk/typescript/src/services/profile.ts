// Profiles: the characters of a user.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, defined, toDate } from "./values.ts";

export interface Profile<Data = JsonObject> {
  readonly id: string;
  readonly name: string;
  readonly data: Data;
  /** True for the profile that is used in rooms. */
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export class Profiles {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Returns all profiles of the player, the oldest first. */
  async list<Data = JsonObject>(options?: CallOptions): Promise<Profile<Data>[]> {
    const call = { method: "GET", path: "/v2/profile", isIdempotent: true } as const;
    return (await this.session.call<{ profiles: WireProfile[] }>(call, options)).profiles.map((profile) => profileOf<Data>(profile));
  }

  /** Creates a profile. The id is generated unless it is given. */
  async create<Data extends object = JsonObject>(
    profile: { readonly name: string; readonly id?: string; readonly data?: Data },
    options?: CallOptions,
  ): Promise<Profile<Data>> {
    return profileOf(await this.session.call({ method: "POST", path: "/v2/profile", body: profile }, options));
  }

  /** Changes the given fields. */
  async update<Data extends object = JsonObject>(
    id: string,
    change: { readonly name?: string; readonly data?: Data },
    options?: CallOptions,
  ): Promise<Profile<Data>> {
    const call = { method: "PUT", path: path`/v2/profile/${id}`, body: defined(change), isIdempotent: true } as const;
    return profileOf(await this.session.call(call, options));
  }

  /** Makes a profile the active one. */
  async select<Data = JsonObject>(id: string, options?: CallOptions): Promise<Profile<Data>> {
    return profileOf(await this.session.call({ method: "POST", path: path`/v2/profile/${id}/select`, isIdempotent: true }, options));
  }

  /** Deletes a profile; resolves with the id of the profile that is active then. */
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
