// Tokens of a session and their claims.

import { fromBase64 } from "../base64.ts";

/** Tokens as they are stored. */
export interface StoredTokens {
  readonly token: string;
  readonly refreshToken: string;
  /** Expiry of the access token, by the local clock. */
  readonly expiresAtMs: number;
  readonly userId: string;
  readonly username: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly isNew: boolean;
  /** True if signed in by the device id alone, so that it can be repeated without asking the player. */
  readonly isVisit: boolean;
}

/** Defaults of fields that an older version did not store. */
const NOBODY: StoredTokens = { token: "", refreshToken: "", expiresAtMs: 0, userId: "", username: "", variables: {}, isNew: false, isVisit: false };

interface Claims {
  readonly uid?: string;
  readonly usn?: string;
  readonly vrs?: Readonly<Record<string, string>>;
  readonly exp?: number;
  readonly iat?: number;
}

/** Reads the answer to a sign-in or a renewal. */
export function readTokens(answer: unknown, isVisit: boolean, wallMs: number): StoredTokens {
  const { token = "", refresh_token = "", created = false } = answer as { token?: string; refresh_token?: string; created?: boolean };
  const claims = claimsOf(token);
  // Uses the lifetime instead of the expiry: the local clock may be hours off.
  const lastsSeconds = (claims.exp ?? 0) - (claims.iat ?? claims.exp ?? 0);
  return {
    token,
    refreshToken: refresh_token,
    expiresAtMs: wallMs + lastsSeconds * 1000,
    userId: claims.uid ?? "",
    username: claims.usn ?? "",
    variables: claims.vrs ?? {},
    isNew: created,
    isVisit,
  };
}

export function tokensText(stored: StoredTokens): string {
  return JSON.stringify({ ...stored, isNew: false });
}

/** Parses stored tokens; returns undefined if they are incomplete. */
export function readStoredTokens(text: string | null | undefined): StoredTokens | undefined {
  try {
    const stored = JSON.parse(text ?? "null") as Partial<StoredTokens> | null;
    const isWhole = typeof stored?.token === "string" && typeof stored.refreshToken === "string" && typeof stored.expiresAtMs === "number";
    return isWhole ? { ...NOBODY, ...(stored as Partial<StoredTokens>) } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the claims of a token. Its signature is not checked; only the server can do that. */
function claimsOf(token: string): Claims {
  try {
    const middle = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(new TextDecoder().decode(fromBase64(middle))) as Claims;
  } catch {
    return {};
  }
}
