// Editor of the game's source, for developers: the running game changes when a module is saved.

import { button, element, write } from "../shared/elements.ts";
import type { Notices } from "../shared/notices.ts";
import { tokensOf } from "./lua.ts";
import { type Change, type ModuleEntry, type Problem, listModules, readModule, restoreModule, writeModule } from "./modules.ts";

const GAME = "quilt";

/** Shows the button of the editor if the visitor is a developer of this server. */
export async function openEditor(notices: Notices): Promise<void> {
  const modules = await listModules(GAME).catch(() => undefined);
  if (modules !== undefined && modules.length > 0) new Editor(modules, notices);
}

/** A module with the text that the developer has typed. */
interface Draft {
  readonly entry: ModuleEntry;
  saved: string;
  text: string;
  isEdited: boolean;
  readonly tab: HTMLButtonElement;
}

class Editor {
  private readonly panel = element("editor", HTMLElement);
  private readonly toggle = button("edit");
  private readonly area = element("editor-text", HTMLTextAreaElement);
  private readonly colours = element("editor-colours", HTMLElement);
  private readonly lines = element("editor-lines", HTMLElement);
  private readonly note = element("editor-note", HTMLElement);
  private readonly saveButton = button("editor-save");
  private readonly resetButton = button("editor-reset");
  private readonly drafts = new Map<string, Draft>();
  private readonly notices: Notices;
  private current: Draft | undefined;
  private problem: Problem | undefined;

  constructor(modules: readonly ModuleEntry[], notices: Notices) {
    this.notices = notices;
    for (const entry of modules) this.addModule(entry);
    this.toggle.hidden = false;
    this.toggle.addEventListener("click", () => this.open(this.panel.hidden === true));
    button("editor-close").addEventListener("click", () => this.open(false));
    this.saveButton.addEventListener("click", () => void this.save());
    this.resetButton.addEventListener("click", () => void this.restore());
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("scroll", () => this.scrolled());
    this.area.addEventListener("keydown", (event) => this.pressed(event));
  }

  private addModule(entry: ModuleEntry): void {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "editor-text");
    tab.textContent = `${entry.name}.lua`;
    tab.addEventListener("click", () => void this.select(entry.name));
    element("modules", HTMLElement).append(tab);
    this.drafts.set(entry.name, { entry, saved: "", text: "", isEdited: entry.is_edited, tab });
  }

  private open(isOpen: boolean): void {
    this.panel.hidden = !isOpen;
    document.body.classList.toggle("editing", isOpen);
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return element("world", HTMLElement).focus({ preventScroll: true });
    if (this.current === undefined) void this.select(GAME);
    else this.area.focus();
  }

  private async select(name: string): Promise<void> {
    const draft = this.drafts.get(name);
    if (draft === undefined) return;
    if (draft.saved === "") {
      try {
        draft.saved = await readModule(name);
        draft.text = draft.saved;
      } catch (error) {
        return this.say(error instanceof Error ? error.message : String(error), "bad");
      }
    }
    this.current = draft;
    for (const each of this.drafts.values()) each.tab.setAttribute("aria-selected", String(each === draft));
    this.area.value = draft.text;
    this.area.setSelectionRange(0, 0);
    this.area.focus({ preventScroll: true });
    this.area.scrollTop = 0;
    this.show();
  }

  private typed(): void {
    if (this.current !== undefined) this.current.text = this.area.value;
    this.show();
  }

  private pressed(event: KeyboardEvent): void {
    if ((event.ctrlKey || event.metaKey) && event.code === "KeyS") {
      event.preventDefault();
      void this.save();
    } else if (event.code === "Tab" && !event.shiftKey) {
      event.preventDefault();
      this.area.setRangeText("\t", this.area.selectionStart, this.area.selectionEnd, "end");
      this.typed();
    } else if (event.code === "Escape") {
      this.open(false);
    }
  }

  private async save(): Promise<void> {
    const draft = this.current;
    if (draft === undefined || draft.text === draft.saved) return;
    const { text } = draft;
    this.say("Saving…", "plain");
    const change = await writeModule(draft.entry.name, text).catch(unreachable);
    // A module with an error is not stored: the former code goes on.
    if (!("problem" in change)) [draft.saved, draft.isEdited] = [text, true];
    this.told(change);
  }

  private async restore(): Promise<void> {
    const draft = this.current;
    if (draft === undefined) return;
    const change = await restoreModule(draft.entry.name).catch(unreachable);
    if (!("problem" in change)) {
      [draft.saved, draft.isEdited] = ["", false];
      await this.select(draft.entry.name);
    }
    this.told(change);
  }

  private told(change: Change): void {
    if ("problem" in change) {
      this.problem = change.problem;
      this.say(change.problem.message, "bad");
      this.show();
      this.reveal(change.problem);
      return;
    }
    this.problem = undefined;
    if (change.kept.includes(GAME)) this.say("Saved. The schema changed, so this match keeps its code: the next one has the new code.", "plain");
    else this.say("Saved. The running game has the new code.", "good");
    this.notices.show("The game has new code.", "good");
    this.show();
  }

  /** Scrolls to the line of an error, if it is in this module. */
  private reveal({ module, line }: Problem): void {
    if (line === undefined || module !== this.current?.entry.name) return;
    const height = this.area.scrollHeight / Math.max(1, this.area.value.split("\n").length);
    this.area.scrollTop = Math.max(0, (line - 6) * height);
    this.scrolled();
  }

  private say(text: string, tone: "plain" | "good" | "bad"): void {
    write(this.note, text);
    this.note.dataset["tone"] = tone;
  }

  /** Shows line numbers, colours and the state of the buttons. */
  private show(): void {
    const draft = this.current;
    if (draft === undefined) return;
    const isChanged = draft.text !== draft.saved;
    this.saveButton.disabled = !isChanged;
    this.resetButton.hidden = !(draft.isEdited && draft.entry.is_built_in);
    for (const each of this.drafts.values()) each.tab.classList.toggle("changed", each.text !== each.saved);
    const failed = this.problem?.module === draft.entry.name ? this.problem.line : undefined;
    this.lines.replaceChildren(...draft.text.split("\n").map((_, at) => part(`${at + 1}\n`, at + 1 === failed ? "failed" : "")));
    this.colours.replaceChildren(...tokensOf(`${draft.text}\n`).map(({ kind, text }) => part(text, kind)));
    this.scrolled();
  }

  private scrolled(): void {
    this.lines.style.transform = `translateY(${-this.area.scrollTop}px)`;
    this.colours.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
  }
}

function part(text: string, name: string): HTMLSpanElement {
  const span = document.createElement("span");
  if (name !== "" && name !== "plain") span.className = name;
  span.textContent = text;
  return span;
}

function unreachable(): Change {
  return { problem: { message: "The server cannot be reached. Save again when it runs." } };
}
