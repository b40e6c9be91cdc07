// Characters of the player: the profiles of the account.

import type { Profile } from "@aether-game/client";
import { ensureSignedIn, visitor } from "../shared/visitor.ts";
import { CHARACTERS } from "./characters.ts";

/** Data of a profile that Outpost uses. Other games may store more in it. */
export interface CharacterData {
  readonly appearance?: unknown;
}

export type CharacterProfile = Profile<CharacterData>;

/** Fields of a character that the player chooses. */
export interface CharacterFields {
  readonly name: string;
  readonly appearance: number;
}

/** Id and name of the first profile, until the player names it. */
const DEFAULT_ID = "default";

/** Key in `localStorage` of the appearance that earlier versions of this page stored. */
const EARLIER_APPEARANCE = "outpost.appearance";

export class Roster {
  profiles: readonly CharacterProfile[] = [];
  private accountName = "";

  get active(): CharacterProfile | undefined {
    return this.profiles.find(({ isActive }) => isActive);
  }

  /** Reads the profiles of the account. */
  async load(): Promise<void> {
    this.accountName = (await ensureSignedIn()).username;
    this.profiles = await visitor().profiles.list<CharacterData>();
    await this.adoptEarlierAppearance();
  }

  /** Name of a character. The first one has the name of the account, until the player names it. */
  nameOf({ id, name }: CharacterProfile): string {
    return id === DEFAULT_ID && name === DEFAULT_ID ? this.accountName : name;
  }

  /** Appearance of a character, if the player chose one. */
  appearanceOf({ data }: CharacterProfile): number | undefined {
    const { appearance } = data;
    return typeof appearance === "number" && CHARACTERS[appearance] !== undefined ? appearance : undefined;
  }

  /** Creates a character. Resolves with its id. */
  async create({ name, appearance }: CharacterFields): Promise<string> {
    const { id } = await visitor().profiles.create<CharacterData>({ name, data: { appearance } });
    await this.load();
    return id;
  }

  /** Changes a character, and leaves other data of the profile as it is. */
  async change(profile: CharacterProfile, { name, appearance }: CharacterFields): Promise<void> {
    const change = { data: { ...profile.data, appearance } };
    await visitor().profiles.update<CharacterData>(profile.id, name === this.nameOf(profile) ? change : { ...change, name });
    await this.load();
  }

  async select(id: string): Promise<void> {
    await visitor().profiles.select(id);
    await this.load();
  }

  /** Deletes a character. Another one is active then, if it was the active one. */
  async delete(id: string): Promise<void> {
    await visitor().profiles.delete(id);
    await this.load();
  }

  /** Moves the appearance that an earlier version of this page stored to the first profile. */
  private async adoptEarlierAppearance(): Promise<void> {
    const appearance = Number.parseInt(localStorage.getItem(EARLIER_APPEARANCE) ?? "", 10);
    localStorage.removeItem(EARLIER_APPEARANCE);
    const first = this.profiles.find(({ id }) => id === DEFAULT_ID);
    if (CHARACTERS[appearance] === undefined || first === undefined || this.appearanceOf(first) !== undefined) return;
    await this.change(first, { name: this.nameOf(first), appearance });
  }
}
