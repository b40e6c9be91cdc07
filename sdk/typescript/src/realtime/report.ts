// Errors of a game that no caller awaits.

/** Reports an error that no caller awaits, like an uncaught one. */
export function report(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void };
  if (reportError !== undefined) reportError(error);
  else console.error(error);
}
