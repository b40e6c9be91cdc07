// Errors of a restore after a lost connection.

import { AetherError } from "../error.ts";
import { type Time, sleep } from "../time.ts";

/** Refusal of requests that follow each other too fast. The protocol has no code for it. */
const TOO_FAST = /^too many messages/i;

/** Pauses before a request is sent again. The server allows five joins per second. */
const PAUSES_MS = [250, 500, 1_000, 1_000, 1_000] as const;

/** Returns the server's refusal. Throws if the connection was lost again, so that the next one restores everything. */
export function restoreErrorOf(thrown: unknown): AetherError {
  if (!(thrown instanceof AetherError) || thrown.code === "disconnected") throw thrown;
  return thrown;
}

/** Sends a request again if requests followed each other too fast, as many at once do after a lost connection. */
export async function paced<Answer>(request: () => Promise<Answer>, time: Time, signal: AbortSignal | undefined): Promise<Answer> {
  const { signal: never } = new AbortController();
  for (const pause of PAUSES_MS) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof AetherError) || !TOO_FAST.test(error.message)) throw error;
      await sleep(pause, signal ?? never, time);
    }
  }
  return request();
}
