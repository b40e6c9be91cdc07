// Pages with scripts, in headless Chromium.
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { BROWSER } from "../../../../testing/browser.mjs";
import { root } from "./readme.mjs";

export function launch() {
  return chromium.launch(BROWSER);
}

/** WASM file of the core, for `page.route`: a generated page has none beside it. */
export const WASM = { path: "**/*.wasm", serve: (route) => route.fulfill({ contentType: "application/wasm", path: `${root}wasm/aether_client_web_bg.wasm` }) };

/** Returns a `page.route` handler for a page with a script and an optional Content-Security-Policy. */
export async function pageOf(contents, policy) {
  const stdin = { contents, loader: "ts", resolveDir: root };
  const alias = { "@aether-game/client": `${root}dist/index.js` };
  const result = await build({ stdin, alias, bundle: true, write: false, format: "esm", target: "es2022" });
  const script = result.outputFiles[0].text.replaceAll("</script", "<\\/script");
  const body = `<!doctype html><link rel="icon" href="data:,"><body><script type="module">${script}</script>`;
  const headers = { "content-type": "text/html; charset=utf-8", ...(policy && { "content-security-policy": policy }) };
  return (route) => route.fulfill({ headers, body });
}
