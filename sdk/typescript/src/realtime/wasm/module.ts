// The core's WASM module, loaded once.

import { AetherError } from "../../error.ts";

type Bindings = typeof import("../../../wasm/aether_client_web.js");

/** Source of the WASM file: a URL, its bytes, or the compiled module. */
export type WasmSource = URL | string | BufferSource | WebAssembly.Module;

/** The loaded module. */
export interface WasmModule {
  readonly bindings: Bindings;
  readonly memory: WebAssembly.Memory;
}

let loading: Promise<WasmModule> | undefined;

/** Loads the core's module, once for all rooms. Call it before joining to have it ready early. */
export function loadWasm(source?: WasmSource): Promise<WasmModule> {
  loading ??= load(source).catch((error: unknown) => {
    // The next attempt may succeed.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(source: WasmSource | undefined): Promise<WasmModule> {
  if (typeof WebAssembly === "undefined") throw new AetherError("unsupported", `This environment has no WebAssembly. ${INSTEAD}`);
  const bindings = await import("../../../wasm/aether_client_web.js");
  // Bundlers recognize this form and copy the file.
  const location = source ?? new URL("../../../wasm/aether_client_web_bg.wasm", import.meta.url);
  try {
    const module_or_path = location instanceof URL && location.protocol === "file:" ? await fileAt(location) : location;
    const { memory } = await bindings.default({ module_or_path });
    return { bindings, memory };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof WebAssembly.CompileError) throw new AetherError("unsupported", `The page may not use WebAssembly: ${text} ${ALLOW} ${INSTEAD}`);
    throw new AetherError("unreachable", `The core's WASM file cannot be loaded: ${text} Serve it beside the script, or pass \`wasm\`. ${INSTEAD}`);
  }
}

const ALLOW = "A page's Content-Security-Policy must allow 'wasm-unsafe-eval' in `script-src`.";
const INSTEAD = 'Or join with `core: "json"`, which has no prediction.';

/** Node.js does not fetch files. The module name is not a literal, so that bundlers for browsers ignore it. */
async function fileAt(url: URL): Promise<BufferSource> {
  const name = "node:fs/promises";
  const { readFile } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> };
  return readFile(url);
}
