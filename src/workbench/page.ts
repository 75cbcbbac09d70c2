type Attributes = Readonly<Record<string, string | boolean | undefined>>;
type Child = Node | string | null;

/** The element of the page with this id. @throws Error if there is none */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found;
}

/** Creates an element. Texts are inserted as text, never as HTML. */
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

/** Shows elements in a part of the page, unless they look the same. Keeps the focus on a button with the same text. */
export function show(id: string, ...children: readonly Node[]): void {
  const place = part(id);
  const next = element('div', {}, ...children);
  if (next.innerHTML === place.innerHTML) return;
  const focused = place.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
  place.replaceChildren(...next.childNodes);
  const buttons = [...place.querySelectorAll('button')];
  if (focused) buttons.find(({ textContent }) => textContent === focused)?.focus();
}

/** A table with a caption, which scrolls if it is too wide; a sentence if there are no rows. */
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

/** Shows a message, which screen readers announce, too. */
export function notify(text: string, isError = false): void {
  const notice = part('notice');
  notice.className = isError ? 'error' : '';
  notice.textContent = text;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Does some work, and shows an error to the user. @returns whether the work succeeded */
export async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    notify(textOf(error), true);
    return false;
  }
}

/** Fills a part of the page. An error, such as a missing permission, appears there; other parts are still filled. */
export const fill = (id: string, work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => show(id, element('p', { class: 'error' }, textOf(error))));

/** A button that is disabled while its work runs. */
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

/** A status, with a color that tells whether it is open, good or bad. */
export const badge = (status: string): HTMLElement => element('span', { class: `badge ${status}` }, status);

/** Milliseconds that the sandbox's time is ahead of this computer's. */
export const sandbox = { aheadMs: 0 };

/** A time, shown by its distance from now; the exact time appears on hover. @param isReal not the sandbox's */
export const moment = (at: string, isReal = false): HTMLTimeElement =>
  withDistance(element('time', { datetime: at, title: at, 'data-real': isReal }));

/** Shows the distances of all times again, because time passes. */
export function refreshTimes(): void {
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[title]')) withDistance(time);
}

function withDistance(time: HTMLTimeElement): HTMLTimeElement {
  const aheadMs = 'real' in time.dataset ? 0 : sandbox.aheadMs;
  const seconds = (Date.parse(time.dateTime) - Date.now() - aheadMs) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (['second', 1] as const);
  time.textContent = DISTANCE.format(Math.trunc(seconds / size), unit);
  return time;
}

const DISTANCE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const UNITS = [
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
