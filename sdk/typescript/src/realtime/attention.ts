// When someone looks at the page again, or the network is back.

/** Why to look after the connection. */
export type Occasion = "shown" | "online";

/** Calls back on every occasion, until what this returns is called. */
export type Attention = (noticed: (occasion: Occasion) => void) => () => void;

/** The page's own occasions; there are none outside of a page. */
export const pageAttention: Attention = (noticed) => {
  if (!("document" in globalThis) || !("addEventListener" in globalThis)) return () => undefined;
  const ending = new AbortController();
  const { signal } = ending;
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && noticed("shown"), { signal });
  // A page that was put aside whole comes back without becoming visible first.
  addEventListener("pageshow", (event) => event.persisted && noticed("shown"), { signal });
  addEventListener("online", () => noticed("online"), { signal });
  return () => ending.abort();
};
