// Modules of the server, which a developer may change while the game runs.

import { developerSecret, isLocalPage } from "../shared/developer.ts";

const ADDRESS = "/api/development/modules";

export interface ModuleEntry {
  readonly name: string;
  /** True if it differs from the one that is part of the program. */
  readonly is_edited: boolean;
  /** True if it is part of the program. */
  readonly is_built_in: boolean;
}

/** Outcome of a change: the new code runs, or the former one goes on. */
export type Change = Loaded | { readonly problem: Problem };

export interface Loaded {
  readonly modules: number;
  /** Matches whose schema changed: those that run keep their code. */
  readonly kept: readonly string[];
}

export interface Problem {
  readonly message: string;
  readonly module?: string;
  readonly line?: number;
}

/** Returns the modules of a game, or undefined if this visitor is no developer of this server. */
export async function listModules(game: string): Promise<readonly ModuleEntry[] | undefined> {
  if (!isLocalPage() || developerSecret() === undefined) return undefined;
  const response = await call("GET", "");
  if (!response.ok) return undefined;
  const { modules } = (await response.json()) as { readonly modules: readonly ModuleEntry[] };
  return modules.filter(({ name }) => name === game || name.startsWith(`${game}.`));
}

export async function readModule(name: string): Promise<string> {
  const response = await call("GET", `/${encodeURIComponent(name)}`);
  if (!response.ok) throw new Error((await problemOf(response)).message);
  return ((await response.json()) as { readonly text: string }).text;
}

/** Stores a module and lets the running game use it. */
export async function writeModule(name: string, text: string): Promise<Change> {
  return changeOf(await call("PUT", `/${encodeURIComponent(name)}`, text));
}

/** Restores the module that is part of the program. */
export async function restoreModule(name: string): Promise<Change> {
  return changeOf(await call("DELETE", `/${encodeURIComponent(name)}`));
}

function call(method: string, path: string, body?: string): Promise<Response> {
  const headers = { authorization: `Bearer ${developerSecret() ?? ""}`, ...(body === undefined ? {} : { "content-type": "text/plain; charset=utf-8" }) };
  return fetch(ADDRESS + path, { method, headers, cache: "no-store", ...(body === undefined ? {} : { body }) });
}

async function changeOf(response: Response): Promise<Change> {
  return response.ok ? ((await response.json()) as Change) : { problem: await problemOf(response) };
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { error, module, line } = (await response.json()) as { readonly error: string; readonly module?: string | null; readonly line?: number | null };
    return { message: error, ...(module == null ? {} : { module }), ...(line == null ? {} : { line }) };
  } catch {
    return { message: `The server answered with status ${response.status}.` };
  }
}
