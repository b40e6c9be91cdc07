/** Waits until a condition gives something; returns that. */
export async function until(what, condition, milliseconds = 15_000) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
