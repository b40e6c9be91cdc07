// Short messages that disappear after a while.

export type Tone = "plain" | "good" | "bad";

/** Display time of a notice. */
const SHOWN_MS = 4_500;

/** More at once would cover the world. */
const SHOWN_MAX = 4;

export class Notices {
  private readonly list: HTMLElement;

  constructor(list: HTMLElement) {
    this.list = list;
  }

  show(text: string, tone: Tone): void {
    const notice = document.createElement("li");
    notice.className = `notice ${tone}`;
    notice.textContent = text;
    this.list.append(notice);
    while (this.list.children.length > SHOWN_MAX) this.list.firstElementChild?.remove();
    setTimeout(() => notice.remove(), SHOWN_MS);
  }
}
