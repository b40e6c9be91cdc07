// Developer secret: the server prints it in the URL of its start, and grants the role `developer` to pages that show it.

const FRAGMENT = "#developer=";
const STORED = "aether.developer";

/** Returns the developer secret of this server, if the visitor has opened the URL that it printed. */
export function developerSecret(): string | undefined {
  if (location.hash.startsWith(FRAGMENT)) {
    localStorage.setItem(STORED, location.hash.slice(FRAGMENT.length));
    // Not in the address bar, the history, or a link that the visitor shares.
    history.replaceState(history.state, "", location.pathname + location.search);
  }
  return localStorage.getItem(STORED) ?? undefined;
}

/** Returns whether the page was opened on the machine of its server, where developers work. */
export function isLocalPage(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}
