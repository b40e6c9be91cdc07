// The core's WASM module, loaded once.

import { Refusal } from "../../refusal.ts";

type Bindings = typeof import("../../../wasm/aether_client_web.js");

/** Where the WASM file is: an address, its bytes, or the compiled module. */
export type WasmSource = URL | string | BufferSource | WebAssembly.Module;

/** The loaded module. */
export interface WasmModule {
  readonly bindings: Bindings;
  readonly memory: WebAssembly.Memory;
}

let loading: Promise<WasmModule> | undefined;

/** Loads the core's module, once for all rooms. Games that want it to be there early call it before they join. */
export function loadWasm(source?: WasmSource): Promise<WasmModule> {
  loading ??= load(source).catch((error: unknown) => {
    // It may be there the next time.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(source: WasmSource | undefined): Promise<WasmModule> {
  if (typeof WebAssembly === "undefined") throw new Refusal("unsupported", `There is no WebAssembly here. ${INSTEAD}`);
  const bindings = await import("../../../wasm/aether_client_web.js");
  // Bundlers carry along what is named in this form.
  const place = source ?? new URL("../../../wasm/aether_client_web_bg.wasm", import.meta.url);
  try {
    const module_or_path = place instanceof URL && place.protocol === "file:" ? await fileAt(place) : place;
    const { memory } = await bindings.default({ module_or_path });
    return { bindings, memory };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof WebAssembly.CompileError) throw new Refusal("unsupported", `WebAssembly is forbidden here: ${text} ${ALLOW} ${INSTEAD}`);
    throw new Refusal("unreachable", `The core's WASM file cannot be loaded: ${text} Serve it beside the script, or pass \`wasm\`. ${INSTEAD}`);
  }
}

const ALLOW = "A page's Content-Security-Policy has to allow 'wasm-unsafe-eval' in `script-src`.";
const INSTEAD = 'Without it, join with `core: "json"`, which predicts nothing.';

/** Node.js does not fetch files. The name is no literal, so that bundlers for browsers do not look for it. */
async function fileAt(url: URL): Promise<BufferSource> {
  const name = "node:fs/promises";
  const { readFile } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> };
  return readFile(url);
}
