// State of a page, for the console and for tests.

declare global {
  interface Window {
    readonly aether: { readonly state: () => unknown };
  }
}

/** Exposes the result of `state` as `aether.state()`. */
export function expose(state: () => unknown): void {
  Object.defineProperty(window, "aether", { value: Object.freeze({ state }) });
}
