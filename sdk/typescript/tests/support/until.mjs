/** Waits until a condition returns a value; returns it. */
export async function until(what, condition, milliseconds = 15_000) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
