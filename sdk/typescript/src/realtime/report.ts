// Errors of a game that nobody waits for.

/** Tells of an error that nobody waits for, as if it had been thrown where nobody catches it. */
export function report(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void };
  if (reportError !== undefined) reportError(error);
  else console.error(error);
}
