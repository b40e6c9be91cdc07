// Credentials for signing in.

import type { Integer } from "./values.ts";
import { fromInteger } from "./values.ts";
import { path } from "./requests.ts";

/** Credentials that an account can be linked to. */
export type LinkableCredentials =
  /** Id that this device stores, of 10 to 128 bytes. */
  | { readonly device: string }
  /** Id that the game chooses, of 6 to 128 bytes. */
  | { readonly custom: string }
  | { readonly email: string; readonly password: string }
  /** Provider of the server's configuration, by its name there. */
  | { readonly external: string; readonly token: string }
  | { readonly platform: "apple" | "google" | "facebook" | "steam"; readonly token: string }
  | { readonly platform: "facebookinstantgame"; readonly signedPlayerInfo: string }
  | ({ readonly platform: "gamecenter" } & GameCenterProof);

/** Credentials for signing in. A username with a password works for accounts that have an email address. */
export type Credentials = LinkableCredentials | { readonly username: string; readonly password: string };

/** Identity proof signed by Game Center. */
export interface GameCenterProof {
  readonly playerId: string;
  readonly bundleId: string;
  readonly timestampSeconds: Integer;
  readonly salt: string;
  readonly signature: string;
  readonly publicKeyUrl: string;
}

/** Path below `authenticate`, `link` and `unlink`, and body of the request. */
export interface SignInRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function signInRequestOf(credentials: Credentials): SignInRequest {
  if ("device" in credentials) return { path: "device", body: { id: credentials.device } };
  if ("custom" in credentials) return { path: "custom", body: { id: credentials.custom } };
  if ("external" in credentials) return { path: path`external/${credentials.external}`, body: { token: credentials.token } };
  if ("email" in credentials) return { path: "email", body: { email: credentials.email, password: credentials.password } };
  if ("username" in credentials) return { path: "email", body: { password: credentials.password } };
  switch (credentials.platform) {
    case "facebookinstantgame":
      return { path: credentials.platform, body: { signed_player_info: credentials.signedPlayerInfo } };
    case "gamecenter":
      return {
        path: credentials.platform,
        body: {
          player_id: credentials.playerId,
          bundle_id: credentials.bundleId,
          timestamp_seconds: fromInteger(credentials.timestampSeconds),
          salt: credentials.salt,
          signature: credentials.signature,
          public_key_url: credentials.publicKeyUrl,
        },
      };
    default:
      return { path: credentials.platform, body: { token: credentials.token } };
  }
}
