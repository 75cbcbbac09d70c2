type Attributes = Readonly<Record<string, string | boolean | undefined>>;
type Child = Node | string | null;

/** The part of the page with this id. */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found;
}

/** A new element. Texts are never read as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Shows elements in a part of the page. The focus stays on the button of the same name; nothing changes if all looks the same. */
export function show(id: string, ...children: readonly Node[]): void {
  const place = part(id);
  const next = element('div', {}, ...children);
  if (next.innerHTML === place.innerHTML) return;
  const focused = place.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
  place.replaceChildren(...next.childNodes);
  const buttons = [...place.querySelectorAll('button')];
  if (focused) buttons.find(({ textContent }) => textContent === focused)?.focus();
}

/** A table with a caption, which scrolls if it is too wide. Without rows, a sentence. */
export function table(caption: string, headings: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  if (rows.length === 0) return element('p', { class: 'muted' }, `${caption}: none.`);
  const head = headings.map((heading) => element('th', { scope: 'col' }, heading));
  const body = rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell))));
  const made = element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...body),
  );
  return element('div', { class: 'table', tabindex: '0' }, made);
}

/** Tells the user, including users of screen readers. */
export function notify(text: string, isError = false): void {
  const notice = part('notice');
  notice.className = isError ? 'error' : '';
  notice.textContent = text;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Does the work, and tells the user of its failure. @returns whether it was done */
export async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    notify(textOf(error), true);
    return false;
  }
}

/** Fills a part of the page. A failure, such as a missing permission, is shown there and leaves the other parts alone. */
export const fill = (id: string, work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => show(id, element('p', { class: 'error' }, textOf(error))));

/** A button that cannot be pressed again while it works. */
export function button(text: string, work: () => Promise<unknown>, attributes: Attributes = {}): HTMLButtonElement {
  const made = element('button', { type: 'button', ...attributes }, text);
  made.addEventListener('click', () => {
    made.disabled = true;
    void attempt(work).finally(() => (made.disabled = false));
  });
  return made;
}

export const buttons = (...all: readonly (HTMLButtonElement | null)[]): HTMLElement =>
  element('div', { class: 'buttons' }, ...all);

/** A moment as the service tells it, to the second. */
export const moment = (at: string): HTMLElement => element('time', { datetime: at }, at.slice(0, 19).replace('T', ' '));
