// Elements that several parts of the lobby draw. Texts of users are always set as text, never as markup.

import { hueOf } from "./texts.ts";

/** Returns an element with a text. */
export function text<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className: string, contents: string): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = contents;
  return made;
}

/** Returns an element with children. */
export function group<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className: string, ...children: readonly Node[]): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

/** Returns a text of a user, whose direction does not change the text around it. */
export function userText<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className: string, contents: string): HTMLElementTagNameMap[Tag] {
  const made = text(tag, `${className} of-user`, contents);
  made.dir = "auto";
  return made;
}

/** Returns a button. The label says what it is about, for readers who do not see its surroundings. */
export function action(contents: string, label: string, className: string, press: () => void): HTMLButtonElement {
  const made = text("button", className, contents);
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.addEventListener("click", press);
  return made;
}

/** Returns the badge of a user, with the first letter of the name. */
export function badge(name: string, id: string): HTMLElement {
  const made = text("span", "badge", [...name.trim()][0]?.toUpperCase() ?? "?");
  made.setAttribute("aria-hidden", "true");
  made.style.setProperty("--hue", String(hueOf(id)));
  return made;
}

/** Returns a menu behind a button. */
export function menu(label: string, ...entries: readonly HTMLButtonElement[]): HTMLElement {
  const made = document.createElement("details");
  made.className = "menu";
  const opener = text("summary", "", "⋯");
  opener.setAttribute("aria-label", label);
  made.append(opener, group("div", "entries", ...entries));
  const close = (): void => void (made.open = false);
  made.addEventListener("click", (event) => event.target instanceof HTMLButtonElement && close());
  made.addEventListener("focusout", (event) => !made.contains(event.relatedTarget as Node | null) && close());
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    close();
    opener.focus();
  });
  return made;
}

/** Contents of lists as they were drawn, so that they keep the focus if nothing changed. */
export class Drawn {
  private readonly keys = new Map<HTMLElement, string>();

  /** Draws a list if its contents changed. */
  draw(list: HTMLElement, contents: unknown, rows: () => HTMLElement[]): void {
    const key = JSON.stringify(contents, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    if (this.keys.get(list) === key) return;
    this.keys.set(list, key);
    list.replaceChildren(...rows());
  }
}
