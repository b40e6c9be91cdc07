// Who looks at the pages: one account for all of them, made by the device's id without a form.

import { Client, type Identity, AetherError } from "@aether-game/client";

/** The longest name that every game here takes, in bytes. */
export const NAME_BYTES_MAX = 16;

/** So many made-up names may be taken before the server makes one up itself. */
const NAME_ATTEMPTS_MAX = 4;

const QUALITIES = ["Amber", "Brave", "Calm", "Dusty", "Early", "Fuzzy", "Grand", "Happy", "Ivory", "Jolly", "Lucky", "Misty", "Noble", "Quick", "Rapid", "Sunny"];
const ANIMALS = ["Badger", "Beaver", "Crane", "Falcon", "Gecko", "Heron", "Ibex", "Koala", "Lemur", "Lynx", "Marten", "Otter", "Panda", "Raven", "Stoat", "Tapir"];

let client: Client | undefined;
let arriving: Promise<Identity> | undefined;

/** The page's client. */
export function visitor(): Client {
  client ??= new Client();
  return client;
}

/** Signs the visitor in, or goes on with who they were. It may be called as often as one likes. */
export function arrive(): Promise<Identity> {
  arriving ??= signIn().catch((error: unknown) => {
    // The next one who asks tries again.
    arriving = undefined;
    throw error;
  });
  return arriving;
}

/** Gives the visitor another name: everywhere, and in the tokens from now on. */
export async function rename(name: string): Promise<Identity> {
  await visitor().account.update({ username: name, displayName: name });
  const identity = await visitor().session.refresh();
  arriving = Promise.resolve(identity);
  return identity;
}

/** Why a text cannot be a name; nothing if it can. */
export function problemOf(name: string): string | undefined {
  if (name.trim() === "") return "A name has at least one letter.";
  if (new TextEncoder().encode(name.trim()).length > NAME_BYTES_MAX) return `A name has at most ${NAME_BYTES_MAX} letters.`;
  return undefined;
}

async function signIn(): Promise<Identity> {
  const { session } = visitor();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await session.visit(attempt < NAME_ATTEMPTS_MAX ? { username: madeUpName() } : {});
    } catch (error) {
      const isTaken = error instanceof AetherError && error.code === "already_exists";
      if (!isTaken || attempt >= NAME_ATTEMPTS_MAX) throw error;
    }
  }
}

/** A name for someone who has none yet. */
export function madeUpName(random: () => number = Math.random): string {
  const one = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? "";
  return `${one(QUALITIES)}${one(ANIMALS)}${Math.floor(random() * 1000)}`;
}
