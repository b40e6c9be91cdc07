// What is kept between visits: the device's id and the session's tokens.

/** Somewhere to keep a few short texts. Its methods may take their time. */
export interface Store {
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  set(key: string, value: string): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** Keeps until the program ends. */
export function memoryStore(): Store {
  const kept = new Map<string, string>();
  return {
    get: (key) => kept.get(key),
    set: (key, value) => void kept.set(key, value),
    delete: (key) => void kept.delete(key),
  };
}

/** Keeps in the browser, for all pages of this origin. Where the browser does not allow it, keeps until the page goes. */
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

/** The browser's store on a page, memory everywhere else. */
export function defaultStore(): Store {
  return "document" in globalThis ? browserStore() : memoryStore();
}

/** Browsers throw when storage is full or forbidden, and some when it is only looked at. */
function attempt<Value>(use: (storage: Storage) => Value): Value | undefined {
  try {
    return use(localStorage);
  } catch {
    return undefined;
  }
}
