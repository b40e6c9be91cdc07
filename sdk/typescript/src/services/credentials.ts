// The ways to show who one is.

import type { Whole } from "./values.ts";
import { fromWhole } from "./values.ts";
import { path } from "./requests.ts";

/** What an account can be linked to, and signed in by. */
export type LinkableCredentials =
  /** An id that this device keeps, of 10 to 128 bytes. */
  | { readonly device: string }
  /** An id of the game's own, of 6 to 128 bytes. */
  | { readonly custom: string }
  | { readonly email: string; readonly password: string }
  /** A provider of the server's configuration, by its name there. */
  | { readonly external: string; readonly token: string }
  | { readonly platform: "apple" | "google" | "facebook" | "steam"; readonly token: string }
  | { readonly platform: "facebookinstantgame"; readonly signedPlayerInfo: string }
  | ({ readonly platform: "gamecenter" } & GameCenterProof);

/** What one signs in with. A username with its password counts for accounts that have an email address. */
export type Credentials = LinkableCredentials | { readonly username: string; readonly password: string };

/** What Game Center signs. */
export interface GameCenterProof {
  readonly playerId: string;
  readonly bundleId: string;
  readonly timestampSeconds: Whole;
  readonly salt: string;
  readonly signature: string;
  readonly publicKeyUrl: string;
}

/** Where credentials go, below `authenticate`, `link` and `unlink`, and in which form. */
export interface Way {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function wayOf(credentials: Credentials): Way {
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
          timestamp_seconds: fromWhole(credentials.timestampSeconds),
          salt: credentials.salt,
          signature: credentials.signature,
          public_key_url: credentials.publicKeyUrl,
        },
      };
    default:
      return { path: credentials.platform, body: { token: credentials.token } };
  }
}
