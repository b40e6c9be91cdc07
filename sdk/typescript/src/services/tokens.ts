// The tokens of a session, and what stands in them.

/** Tokens as they are kept. */
export interface Kept {
  readonly token: string;
  readonly refreshToken: string;
  /** When the access token runs out, by this machine's clock. */
  readonly expiresAtMs: number;
  readonly userId: string;
  readonly username: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly isNew: boolean;
  /** Whether it is by the device alone, so that it can be begun again without asking anyone. */
  readonly isVisit: boolean;
}

/** What is not kept is not known. */
const NOBODY: Kept = { token: "", refreshToken: "", expiresAtMs: 0, userId: "", username: "", variables: {}, isNew: false, isVisit: false };

interface Claims {
  readonly uid?: string;
  readonly usn?: string;
  readonly vrs?: Readonly<Record<string, string>>;
  readonly exp?: number;
  readonly iat?: number;
}

/** Reads the answer to signing in or renewing. */
export function readTokens(answer: unknown, isVisit: boolean, wallMs: number): Kept {
  const { token = "", refresh_token = "", created = false } = answer as { token?: string; refresh_token?: string; created?: boolean };
  const claims = claimsOf(token);
  // By how long it lasts rather than by when it ends: this machine's clock may be hours off.
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

export function keptText(kept: Kept): string {
  return JSON.stringify({ ...kept, isNew: false });
}

/** What a store kept, if that is still something. */
export function readKept(text: string | null | undefined): Kept | undefined {
  try {
    const kept = JSON.parse(text ?? "null") as Partial<Kept> | null;
    const isWhole = typeof kept?.token === "string" && typeof kept.refreshToken === "string" && typeof kept.expiresAtMs === "number";
    return isWhole ? { ...NOBODY, ...(kept as Partial<Kept>) } : undefined;
  } catch {
    return undefined;
  }
}

/** The middle part of a token. The server alone can tell whether it is genuine; here it only informs. */
function claimsOf(token: string): Claims {
  try {
    const middle = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(middle), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Claims;
  } catch {
    return {};
  }
}
