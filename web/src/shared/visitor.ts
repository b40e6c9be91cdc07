// Account of the visitor: one for all pages, created by the device id without a form.

import { Client, type Identity, AetherError } from "@aether-game/client";

/** Maximum length of an account's name, in bytes. Games shorten a name that is longer than they show. */
export const NAME_BYTES_MAX = 128;

/** Length up to which every game shows a name as it is, in bytes. */
export const SHOWN_BYTES_MAX = 16;

/** Attempts with a generated name before the server chooses one. */
const NAME_ATTEMPTS_MAX = 4;

const QUALITIES = ["Amber", "Brave", "Calm", "Dusty", "Early", "Fuzzy", "Grand", "Happy", "Ivory", "Jolly", "Lucky", "Misty", "Noble", "Quick", "Rapid", "Sunny"];
const ANIMALS = ["Badger", "Beaver", "Crane", "Falcon", "Gecko", "Heron", "Ibex", "Koala", "Lemur", "Lynx", "Marten", "Otter", "Panda", "Raven", "Stoat", "Tapir"];

let client: Client | undefined;
let signingIn: Promise<Identity> | undefined;

/** Returns the page's client. */
export function visitor(): Client {
  client ??= new Client();
  return client;
}

/** Signs in, or continues the stored session. May be called any number of times. */
export function ensureSignedIn(): Promise<Identity> {
  signingIn ??= signIn().catch((error: unknown) => {
    // The next call tries again.
    signingIn = undefined;
    throw error;
  });
  return signingIn;
}

/** Renames the account; new tokens contain the name too. */
export async function rename(name: string): Promise<Identity> {
  await visitor().account.update({ username: name, displayName: name });
  const identity = await visitor().session.refresh();
  signingIn = Promise.resolve(identity);
  return identity;
}

/** Returns why a text is not a valid name, or undefined if it is valid. */
export function problemOf(name: string): string | undefined {
  if (name.trim() === "") return "Enter a name.";
  if (new TextEncoder().encode(name.trim()).length > NAME_BYTES_MAX) return `The name is too long; use at most ${NAME_BYTES_MAX} letters.`;
  return undefined;
}

async function signIn(): Promise<Identity> {
  const { session } = visitor();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await session.visit(attempt < NAME_ATTEMPTS_MAX ? { username: randomName() } : {});
    } catch (error) {
      const isTaken = error instanceof AetherError && error.code === "already_exists";
      if (!isTaken || attempt >= NAME_ATTEMPTS_MAX) throw error;
    }
  }
}

/** Returns a random name. */
export function randomName(random: () => number = Math.random): string {
  const one = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? "";
  return `${one(QUALITIES)}${one(ANIMALS)}${Math.floor(random() * 1000)}`;
}
