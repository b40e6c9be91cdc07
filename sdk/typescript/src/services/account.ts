// The player's own account, and public parts of other accounts.

import type { LinkableCredentials } from "./credentials.ts";
import { signInRequestOf } from "./credentials.ts";
import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, defined, toAmounts, toDate, toDateIfAny, toJson } from "./values.ts";

/** Public part of an account. */
export interface User<Metadata = JsonObject> {
  readonly id: string;
  readonly username: string;
  readonly displayName: string;
  readonly avatarUrl: string;
  readonly language: string;
  readonly location: string;
  readonly timezone: string;
  /** Written by server code. */
  readonly metadata: Metadata;
  readonly isOnline: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The player's own account. */
export interface OwnAccount<Metadata = JsonObject> {
  readonly user: User<Metadata>;
  /** Signed 64-bit amounts by name. Only server code changes them. */
  readonly wallet: Readonly<Record<string, bigint>>;
  readonly email: string | undefined;
  readonly emailVerifiedAt: Date | undefined;
  readonly customId: string | undefined;
  readonly deviceIds: readonly string[];
}

/** Changes of an account. Absent fields keep their value. */
export interface AccountChange {
  readonly username?: string;
  readonly displayName?: string;
  readonly avatarUrl?: string;
  readonly language?: string;
  readonly location?: string;
  readonly timezone?: string;
}

export class Account {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async read<Metadata = JsonObject>(options?: CallOptions): Promise<OwnAccount<Metadata>> {
    const found = await this.session.call<WireAccount>({ method: "GET", path: "/v2/account", isIdempotent: true }, options);
    return {
      user: userOf<Metadata>(found.user),
      wallet: toAmounts(found.wallet),
      email: found.email,
      emailVerifiedAt: toDateIfAny(found.verify_time),
      customId: found.custom_id,
      deviceIds: (found.devices ?? []).map((device) => device.id),
    };
  }

  /** Changes the given fields. A new username is in the tokens after `session.refresh()`. */
  async update(change: AccountChange, options?: CallOptions): Promise<void> {
    const body = defined({
      username: change.username,
      display_name: change.displayName,
      avatar_url: change.avatarUrl,
      lang_tag: change.language,
      location: change.location,
      timezone: change.timezone,
    });
    await this.session.call({ method: "PUT", path: "/v2/account", body, isIdempotent: true }, options);
  }

  /** Deletes the account and all its data for good. */
  async delete(options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: "/v2/account" }, options);
  }

  /** Adds a sign-in method. */
  async link(credentials: LinkableCredentials, options?: CallOptions): Promise<void> {
    await this.change("link", credentials, options);
  }

  /** Removes a sign-in method. */
  async unlink(credentials: LinkableCredentials, options?: CallOptions): Promise<void> {
    await this.change("unlink", credentials, options);
  }

  /** Returns users by id or username. Unknown ones are left out. */
  async users<Metadata = JsonObject>(
    who: { readonly ids?: readonly string[]; readonly usernames?: readonly string[] },
    options?: CallOptions,
  ): Promise<User<Metadata>[]> {
    const query = { ids: who.ids ?? [], usernames: who.usernames ?? [] };
    const found = await this.session.call<{ users?: WireUser[] }>({ method: "GET", path: "/v2/user", query, isIdempotent: true }, options);
    return (found.users ?? []).map((user) => userOf<Metadata>(user));
  }

  /** Sends a code with which a new password can be set. Succeeds for unknown addresses too. */
  async requestPasswordReset(email: string, options?: CallOptions): Promise<void> {
    await this.session.callWithKey({ method: "POST", path: "/v2/account/password/reset", body: { email } }, options);
  }

  /** Sets a new password with the code. Ends all sessions of the account. */
  async resetPassword(code: string, password: string, options?: CallOptions): Promise<void> {
    await this.session.callWithKey({ method: "POST", path: "/v2/account/password/confirm", body: { code, password } }, options);
  }

  /** Sends a code that verifies the email address. */
  async requestEmailVerification(options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: "/v2/account/email/verify" }, options);
  }

  async verifyEmail(code: string, options?: CallOptions): Promise<void> {
    await this.session.callWithKey({ method: "POST", path: "/v2/account/email/verify/confirm", body: { code } }, options);
  }

  private change(act: "link" | "unlink", credentials: LinkableCredentials, options?: CallOptions): Promise<unknown> {
    const { path, body } = signInRequestOf(credentials);
    const isSteam = act === "link" && path === "steam";
    const call = { method: "POST", path: `/v2/account/${act}/${path}`, body: isSteam ? { account: body } : body } as const;
    return this.session.call(call, options);
  }
}

/** A user on the wire. */
export interface WireUser {
  readonly id: string;
  readonly username: string;
  readonly display_name?: string;
  readonly avatar_url?: string;
  readonly lang_tag?: string;
  readonly location?: string;
  readonly timezone?: string;
  readonly metadata?: string;
  readonly online?: boolean;
  readonly create_time: string;
  readonly update_time: string;
}

interface WireAccount {
  readonly user: WireUser;
  readonly wallet?: string;
  readonly email?: string;
  readonly verify_time?: string;
  readonly custom_id?: string;
  readonly devices?: readonly { readonly id: string }[];
}

/** Returns the public part of an account. */
export function userOf<Metadata>(user: WireUser): User<Metadata> {
  return {
    id: user.id,
    username: user.username,
    displayName: user.display_name ?? "",
    avatarUrl: user.avatar_url ?? "",
    language: user.lang_tag ?? "",
    location: user.location ?? "",
    timezone: user.timezone ?? "",
    metadata: toJson<Metadata>(user.metadata),
    isOnline: user.online ?? false,
    createdAt: toDate(user.create_time),
    updatedAt: toDate(user.update_time),
  };
}
