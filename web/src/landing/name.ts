// Form for the visitor's name.

import { AetherError } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { ensureSignedIn, problemOf, rename } from "../shared/visitor.ts";

/** Pause before the next attempt to sign in. */
const RETRY_MS = 2_000;

export class NameForm {
  /** The name as the server knows it. */
  known: string | undefined;
  private readonly input = element("name", HTMLInputElement);
  private readonly save = button("save");
  private readonly note = element("name-note", HTMLElement);

  constructor() {
    this.input.addEventListener("input", () => this.update());
    element("rename", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    void this.begin();
  }

  private async begin(): Promise<void> {
    try {
      const { username } = await ensureSignedIn();
      this.known = username;
      this.input.value = username;
      this.input.disabled = false;
    } catch (error) {
      this.say(sentence(error), true);
      // A rejected sign-in would be rejected again.
      if (!(error instanceof AetherError) || error.status < 400 || error.status >= 500) setTimeout(() => void this.begin(), RETRY_MS);
    }
    this.update();
  }

  private update(): void {
    const name = this.input.value.trim();
    this.save.disabled = this.known === undefined || name === this.known || problemOf(name) !== undefined;
  }

  private async submit(): Promise<void> {
    const name = this.input.value.trim();
    const problem = problemOf(name);
    if (problem !== undefined) return this.say(problem, true);
    if (name === this.known) return;
    this.save.disabled = true;
    try {
      this.known = (await rename(name)).username;
      this.input.value = this.known;
      this.say(`Your name is now ${this.known}.`, false);
    } catch (error) {
      this.say(sentence(error), true);
    }
    this.update();
  }

  private say(text: string, isBad: boolean): void {
    write(this.note, text);
    this.note.classList.toggle("bad", isBad);
  }
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
