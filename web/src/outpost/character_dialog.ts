// Dialog of the player's characters: play, create, rename and delete.

import { button, element, write } from "../shared/elements.ts";
import { CHARACTERS } from "./characters.ts";
import { appearanceName, portrait } from "./portraits.ts";
import type { CharacterProfile, Roster } from "./roster.ts";

/** Maximum number of profiles of an account. */
const PROFILES_MAX = 16;

export class CharacterDialog {
  private readonly roster: Roster;
  private readonly play: (profile: string) => void;
  private readonly dialog = element("characters", HTMLDialogElement);
  private readonly list = element("character-list", HTMLElement);
  private readonly form = element("character-form", HTMLFormElement);
  private readonly name = element("character-name", HTMLInputElement);
  private readonly note = element("characters-note", HTMLElement);
  /** Character in the form; undefined for a new one. */
  private edited: CharacterProfile | undefined;
  private appearance = 0;
  /** Appearances that the room gave to characters without a chosen one, by profile. */
  private readonly given = new Map<string, number>();
  /** Character whose deletion needs a second click. */
  private doomed: string | undefined;

  constructor(roster: Roster, play: (profile: string) => void) {
    this.roster = roster;
    this.play = play;
    button("choose-character").addEventListener("click", () => this.open());
    button("close-characters").addEventListener("click", () => this.dialog.close());
    button("new-character").addEventListener("click", () => this.edit(undefined));
    button("cancel-character").addEventListener("click", () => this.showList());
    // A click outside the card closes the dialog.
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.attempt(() => this.save());
    });
    element("appearances", HTMLElement).append(...CHARACTERS.map((_, appearance) => this.choiceOf(appearance)));
  }

  /** Handles the appearance of the own player in the room. */
  seen(appearance: number): void {
    const { active } = this.roster;
    if (active === undefined || this.given.get(active.id) === appearance) return;
    this.given.set(active.id, appearance);
    if (this.dialog.open) this.render();
  }

  private open(): void {
    this.showList();
    this.dialog.showModal();
    void this.attempt(() => this.roster.load());
  }

  private showList(): void {
    this.doomed = undefined;
    this.dialog.dataset["view"] = "list";
    write(element("title-characters", HTMLElement), "Your characters");
    this.say("");
    this.render();
  }

  private edit(profile: CharacterProfile | undefined): void {
    this.edited = profile;
    this.dialog.dataset["view"] = "form";
    write(element("title-characters", HTMLElement), profile === undefined ? "New character" : "Edit character");
    this.name.value = profile === undefined ? "" : this.roster.nameOf(profile);
    this.choose(profile === undefined ? Math.floor(Math.random() * CHARACTERS.length) : this.appearanceOf(profile));
    this.say("");
    this.name.focus();
  }

  private async save(): Promise<void> {
    const fields = { name: this.name.value.trim(), appearance: this.appearance };
    const { edited } = this;
    if (edited === undefined) {
      await this.choosePlayed(await this.roster.create(fields));
    } else {
      await this.roster.change(edited, fields);
      if (edited.isActive) this.play(edited.id);
    }
    this.showList();
  }

  private async choosePlayed(id: string): Promise<void> {
    await this.roster.select(id);
    this.play(id);
  }

  private async remove(profile: CharacterProfile): Promise<void> {
    if (this.doomed !== profile.id) {
      this.doomed = profile.id;
      this.render();
      return;
    }
    this.doomed = undefined;
    await this.roster.delete(profile.id);
    const { active } = this.roster;
    if (profile.isActive && active !== undefined) this.play(active.id);
  }

  /** Runs a call to the server and shows its error. */
  private async attempt(call: () => Promise<void>): Promise<void> {
    this.dialog.setAttribute("aria-busy", "true");
    try {
      await call();
      this.say("");
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    this.dialog.removeAttribute("aria-busy");
    this.render();
  }

  private say(text: string): void {
    write(this.note, text);
  }

  private render(): void {
    const { profiles } = this.roster;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["key"] : undefined;
    this.list.replaceChildren(...profiles.map((profile) => this.rowOf(profile)));
    if (focused !== undefined) this.list.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    button("new-character").disabled = profiles.length >= PROFILES_MAX;
  }

  private rowOf(profile: CharacterProfile): HTMLElement {
    const { id, isActive } = profile;
    const name = this.roster.nameOf(profile);
    const row = document.createElement("li");
    row.dataset["profile"] = id;
    const play = this.actionOf(`play ${id}`, "", `Play ${name}`, () => this.choosePlayed(id));
    play.classList.add("play");
    play.setAttribute("aria-pressed", String(isActive));
    const named = document.createElement("strong");
    named.textContent = name;
    const kind = document.createElement("small");
    kind.textContent = isActive ? `${appearanceName(this.appearanceOf(profile))} · playing` : appearanceName(this.appearanceOf(profile));
    play.append(portrait(this.appearanceOf(profile)), named, kind);
    const edit = this.actionOf(`edit ${id}`, "Edit", `Edit ${name}`, async () => this.edit(profile));
    const isDoomed = this.doomed === id;
    const remove = this.actionOf(`delete ${id}`, isDoomed ? "Sure?" : "Delete", isDoomed ? `Delete ${name} for good` : `Delete ${name}`, () => this.remove(profile));
    remove.classList.toggle("danger", isDoomed);
    remove.disabled = this.roster.profiles.length === 1;
    row.append(play, edit, remove);
    return row;
  }

  private actionOf(key: string, text: string, label: string, act: () => Promise<void>): HTMLButtonElement {
    const action = document.createElement("button");
    action.type = "button";
    action.dataset["key"] = key;
    action.textContent = text;
    action.setAttribute("aria-label", label);
    action.addEventListener("click", () => void this.attempt(act));
    return action;
  }

  /** Appearance of a character. Without a chosen one, the room gave it one. */
  private appearanceOf(profile: CharacterProfile): number {
    return this.roster.appearanceOf(profile) ?? this.given.get(profile.id) ?? 0;
  }

  private choose(appearance: number): void {
    this.appearance = appearance;
    for (const choice of this.form.querySelectorAll<HTMLElement>("[data-appearance]")) {
      choice.setAttribute("aria-pressed", String(choice.dataset["appearance"] === String(appearance)));
    }
  }

  private choiceOf(appearance: number): HTMLElement {
    const choice = document.createElement("button");
    choice.type = "button";
    choice.dataset["appearance"] = String(appearance);
    const label = document.createElement("span");
    label.textContent = appearanceName(appearance);
    choice.append(portrait(appearance), label);
    choice.addEventListener("click", () => this.choose(appearance));
    return choice;
  }
}
