// Errors of a restore after a lost connection.

import { AetherError } from "../error.ts";

/** Returns the server's refusal. Throws if the connection was lost again, so that the next one restores everything. */
export function restoreErrorOf(thrown: unknown): AetherError {
  if (!(thrown instanceof AetherError) || thrown.code === "disconnected") throw thrown;
  return thrown;
}
