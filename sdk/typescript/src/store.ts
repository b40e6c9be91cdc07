// Storage of the device id and the session's tokens between visits.

/** Key-value store for a few short strings. Its methods may be asynchronous. */
export interface Store {
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  set(key: string, value: string): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** Returns a store that lasts until the program ends. */
export function memoryStore(): Store {
  const values = new Map<string, string>();
  return {
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  };
}

/**
 * Returns a store in `localStorage`, shared by all pages of the origin. Falls back to memory where the browser forbids
 * it.
 */
export function browserStore(): Store {
  const inMemory = memoryStore();
  return {
    get: (key) => attempt((storage) => storage.getItem(key)) ?? inMemory.get(key),
    set: (key, value) => attempt((storage) => (storage.setItem(key, value), true)) ?? inMemory.set(key, value),
    delete: (key) => {
      attempt((storage) => storage.removeItem(key));
      return inMemory.delete(key);
    },
  } as Store;
}

/** Returns the browser store on a page, a memory store elsewhere. */
export function defaultStore(): Store {
  return "document" in globalThis ? browserStore() : memoryStore();
}

/** Browsers throw when storage is full or forbidden; some throw on mere access. */
function attempt<Value>(use: (storage: Storage) => Value): Value | undefined {
  try {
    return use(localStorage);
  } catch {
    return undefined;
  }
}
