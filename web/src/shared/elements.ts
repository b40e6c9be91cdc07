// Elements of the page by id. A missing one is a bug in index.html, found on load.

export function element<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no element \`${id}\` of the expected type.`);
  return found;
}

export function button(id: string): HTMLButtonElement {
  return element(id, HTMLButtonElement);
}

/** Sets a text only if it changed, to avoid layout work. */
export function write(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}
