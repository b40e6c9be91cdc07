// Who is signed in: signing in, tokens that are renewed before they run out, and the end of it.

import { Refusal } from "../refusal.ts";
import { type Store, defaultStore } from "../store.ts";
import { type Credentials, wayOf } from "./credentials.ts";
import type { Call, CallOptions, Requests } from "./requests.ts";
import { type Kept, keptText, readKept, readTokens } from "./tokens.ts";
import { base64, defined } from "./values.ts";

/** Who is signed in. */
export interface Identity {
  readonly userId: string;
  readonly username: string;
  /** What was said along with signing in. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether the account was made by signing in this time. */
  readonly isNew: boolean;
}

export interface SignInOptions extends CallOptions {
  /** Whether an account is made where there is none. It is, unless it is said. */
  readonly create?: boolean;
  /** The name of a new account; the server makes one up otherwise. */
  readonly username?: string;
  /** Kept in the session's tokens, for the server's own code. */
  readonly variables?: Readonly<Record<string, string>>;
}

export interface SessionOptions {
  /** The server's `api.server_key`. It is in every copy of a game, so it is no secret. */
  readonly serverKey?: string;
  /** Where the device's id and the tokens are kept: in the browser on a page, in memory elsewhere. */
  readonly store?: Store;
}

/** A token this close to its end is renewed first: it has to last for the way, and for opening a connection. */
const MARGIN_MS = 30_000;

/** The random bytes of a device's id: nobody can guess one. */
const DEVICE_ID_BYTES = 16;

export class Session {
  readonly requests: Requests;
  private readonly serverKey: string;
  private readonly store: Store;
  /** What is known to be kept; nothing until the store was asked. */
  private kept: { readonly tokens: Kept | undefined } | undefined;
  private renewing: Promise<Kept> | undefined;
  private visiting: Promise<Identity> | undefined;
  private device: Promise<string> | undefined;
  /** How whoever only visits is signed in anew when the session is over. */
  private visitOptions: SignInOptions | undefined;

  constructor(requests: Requests, options: SessionOptions = {}) {
    this.requests = requests;
    this.serverKey = options.serverKey ?? "defaultkey";
    this.store = options.store ?? defaultStore();
  }

  /** Who is signed in, as far as it is known without asking the store; `visit` and every call ask it. */
  get identity(): Identity | undefined {
    const tokens = this.kept?.tokens;
    return tokens === undefined ? undefined : identityOf(tokens);
  }

  /** Goes on with the session that is kept, or signs in by the device's id, without a form. */
  visit(options: SignInOptions = {}): Promise<Identity> {
    this.visiting ??= this.begin({ ...options, signal: undefined }).finally(() => {
      this.visiting = undefined;
    });
    return unlessAborted(this.visiting, options.signal);
  }

  /** Who was signed in before, if the store still knows. */
  async restore(): Promise<Identity | undefined> {
    const kept = await this.restored();
    return kept === undefined ? undefined : identityOf(kept);
  }

  /** Signs in, in place of who was signed in here. */
  async signIn(credentials: Credentials, options: SignInOptions = {}): Promise<Identity> {
    this.visitOptions = undefined;
    return identityOf(await this.authenticate(credentials, false, options));
  }

  /** An access token that is good for a while, for a realtime connection for example. */
  async token(options: CallOptions = {}): Promise<string> {
    const tokens = await this.restored();
    if (tokens !== undefined && tokens.expiresAtMs - this.requests.time.wallMs() > MARGIN_MS) return tokens.token;
    return (await this.renewed(tokens?.token, options)).token;
  }

  /** Renews the tokens now; the username and the variables in them are new too. */
  async refresh(options: CallOptions = {}): Promise<Identity> {
    return identityOf(await this.renewed((await this.restored())?.token, options));
  }

  /** Ends this session, or all of the user's; the device's id stays, so that a visitor can come back. */
  async logOut(options: CallOptions & { readonly everywhere?: boolean } = {}): Promise<void> {
    this.visitOptions = undefined;
    if ((await this.restored()) === undefined) return;
    try {
      // It may renew them first.
      await this.token(options);
      const tokens = this.kept?.tokens;
      const body = options.everywhere === true ? {} : { token: tokens?.token, refresh_token: tokens?.refreshToken };
      await this.call({ method: "POST", path: "/v2/session/logout", body, isIdempotent: true }, options);
    } catch (error) {
      // A session that is over has ended already, which is all that is wanted.
      if (!isOver(error)) throw error;
    } finally {
      await this.keep(undefined);
    }
  }

  /** This device's id: made once, then kept. */
  deviceId(): Promise<string> {
    this.device ??= this.readDeviceId().catch((error: unknown) => {
      this.device = undefined;
      throw error;
    });
    return this.device;
  }

  /** Sends a call with the session's token. What is refused as if nobody were signed in is tried once more, with new tokens. */
  async call<Answer>(call: Call, options: CallOptions = {}): Promise<Answer> {
    const token = await this.token(options);
    try {
      return await this.requests.send<Answer>({ ...call, authorization: `Bearer ${token}` }, options);
    } catch (error) {
      if (!isOver(error)) throw error;
      const { token: fresh } = await this.renewed(token, options);
      return this.requests.send<Answer>({ ...call, authorization: `Bearer ${fresh}` }, options);
    }
  }

  /** Sends a call with the server's key, for what nobody has to be signed in for. */
  callWithKey<Answer>(call: Call, options: CallOptions = {}): Promise<Answer> {
    return this.requests.send<Answer>({ ...call, authorization: `Basic ${base64(`${this.serverKey}:`)}` }, options);
  }

  private async begin(options: SignInOptions): Promise<Identity> {
    const kept = await this.restored();
    this.visitOptions = kept === undefined || kept.isVisit ? options : undefined;
    return identityOf(kept ?? (await this.signInByDevice(options)));
  }

  private async signInByDevice(options: SignInOptions): Promise<Kept> {
    return this.authenticate({ device: await this.deviceId() }, true, options);
  }

  private async authenticate(credentials: Credentials, isVisit: boolean, options: SignInOptions): Promise<Kept> {
    const { path, body } = wayOf(credentials);
    const username = "username" in credentials ? credentials.username : options.username;
    const call: Call = {
      method: "POST",
      path: `/v2/account/authenticate/${path}`,
      query: { create: options.create, username },
      body: defined({ ...body, vars: options.variables }),
      // Whoever signs in twice is signed in.
      isIdempotent: true,
    };
    const answer = await this.callWithKey(call, options);
    return this.keep(readTokens(answer, isVisit, this.requests.time.wallMs()));
  }

  /** New tokens in place of a stale one. There is one renewal at a time, whoever asks for it. */
  private renewed(stale: string | undefined, options: CallOptions): Promise<Kept> {
    const current = this.kept?.tokens;
    if (current !== undefined && stale !== undefined && current.token !== stale) return Promise.resolve(current);
    this.renewing ??= this.renew(stale).finally(() => {
      this.renewing = undefined;
    });
    // One caller that gives up does not take the tokens from the others.
    return unlessAborted(this.renewing, options.signal);
  }

  private async renew(stale: string | undefined): Promise<Kept> {
    // Another page of this origin may have renewed them; a refresh token is good once.
    const kept = await this.restored({ anew: true });
    if (kept !== undefined && kept.token !== stale) return kept;
    if (kept !== undefined) {
      try {
        return await this.exchange(kept);
      } catch (error) {
        if (!isOver(error)) throw error;
        await this.keep(undefined);
        if (!kept.isVisit) throw error;
        this.visitOptions ??= {};
      }
    }
    if (this.visitOptions !== undefined) return this.signInByDevice(this.visitOptions);
    throw new Refusal("signed_out", "Nobody is signed in: call session.visit() or session.signIn() first.");
  }

  private async exchange(kept: Kept): Promise<Kept> {
    const body = { token: kept.refreshToken };
    const call: Call = { method: "POST", path: "/v2/account/session/refresh", body, isIdempotent: true };
    return this.keep(readTokens(await this.callWithKey(call), kept.isVisit, this.requests.time.wallMs()));
  }

  private async restored({ anew = false } = {}): Promise<Kept | undefined> {
    if (this.kept === undefined || anew) {
      const text = await this.store.get(this.keyOf("session"));
      // A store that keeps nothing must not sign out who is signed in.
      if (typeof text === "string" || this.kept === undefined) this.kept = { tokens: readKept(text) };
    }
    return this.kept.tokens;
  }

  private async keep<Tokens extends Kept | undefined>(tokens: Tokens): Promise<Tokens> {
    this.kept = { tokens };
    const key = this.keyOf("session");
    await (tokens === undefined ? this.store.delete(key) : this.store.set(key, keptText(tokens)));
    return tokens;
  }

  private async readDeviceId(): Promise<string> {
    const key = this.keyOf("device");
    const known = await this.store.get(key);
    if (typeof known === "string" && known !== "") return known;
    const made = [...crypto.getRandomValues(new Uint8Array(DEVICE_ID_BYTES))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    await this.store.set(key, made);
    return made;
  }

  /** A page may use several servers. */
  private keyOf(what: string): string {
    return `aether:${this.requests.url}:${what}`;
  }
}

function identityOf({ userId, username, variables, isNew }: Kept): Identity {
  return { userId, username, variables, isNew };
}

function isOver(error: unknown): boolean {
  return error instanceof Refusal && error.status === 401;
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason as Error);
    if (signal.aborted) return aborted();
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}
