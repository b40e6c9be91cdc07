// What a page knows, to look at from the console and from tests.

declare global {
  interface Window {
    readonly aether: { readonly state: () => unknown };
  }
}

/** Shows what `state` gives as `aether.state()`. */
export function expose(state: () => unknown): void {
  Object.defineProperty(window, "aether", { value: Object.freeze({ state }) });
}
