// The page's elements by id. A missing one is a mistake in index.html, found at the first start.

export function element<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page lacks its element ${id}.`);
  return found;
}

export function button(id: string): HTMLButtonElement {
  return element(id, HTMLButtonElement);
}

/** Writes a text if it is another one; the browser then has nothing to lay out again. */
export function write(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}
