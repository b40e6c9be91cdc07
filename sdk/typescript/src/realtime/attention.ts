// Page events after which the connection is checked at once.

/** Reason to check the connection: the page is visible again, or the network is back. */
export type Occasion = "shown" | "online";

/** Calls back on every such event, until the returned function is called. */
export type Attention = (noticed: (occasion: Occasion) => void) => () => void;

/** Events of the page. Does nothing outside a browser. */
export const pageAttention: Attention = (noticed) => {
  if (!("document" in globalThis) || !("addEventListener" in globalThis)) return () => undefined;
  const ending = new AbortController();
  const { signal } = ending;
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && noticed("shown"), { signal });
  // A page restored from the back-forward cache fires no `visibilitychange`.
  addEventListener("pageshow", (event) => event.persisted && noticed("shown"), { signal });
  addEventListener("online", () => noticed("online"), { signal });
  return () => ending.abort();
};
