import { render, type ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { attempt, part, textOf } from './page.js';

/** Shows content in a part of the page. If that removes the focused control, the heading of its section gets the focus. */
export function show(id: string, content: ComponentChildren): void {
  const place = part(id);
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  render(content, place);
  if (focused?.isConnected === false) place.closest('section')?.querySelector('h2')?.focus();
}

/**
 * Fills a part of the page, unless the content is undefined. An error, such as a missing permission, appears there; other
 * parts are still filled.
 */
export async function fill(id: string, content: Promise<ComponentChildren>): Promise<void> {
  const shown = await content.catch((error: unknown) => <p class="error">{textOf(error)}</p>);
  if (shown !== undefined) show(id, shown);
}

/** By the heading of a column, the function that makes its cell for a row. */
type Columns<Row> = Readonly<Record<string, (row: Row) => ComponentChildren>>;

/** A table with a caption, which scrolls if it is too wide; a sentence if there are no rows. */
export function table<Row extends object>(caption: string, rows: readonly Row[], columns: Columns<Row>) {
  if (rows.length === 0) return <p class="muted">{caption}: none.</p>;
  const headings = Object.keys(columns).map((heading) => <th scope="col">{heading}</th>);
  const body = rows.map((row, index) => {
    const cells = Object.entries(columns).map(([heading, cell]) => <td data-heading={heading}>{cell(row)}</td>);
    return <tr key={'id' in row ? row.id : index}>{cells}</tr>;
  });
  return (
    <div class="table" tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>{headings}</tr>
        </thead>
        <tbody>{body}</tbody>
      </table>
    </div>
  );
}

/** A button that ignores clicks while the work of its current text runs. A disabled button would lose the focus. */
export function Button({ text, work, label }: { text: string; work: () => Promise<unknown>; label?: string }) {
  const [running, setRunning] = useState('');
  const click = async (): Promise<void> => {
    if (running === text) return;
    setRunning(text);
    await attempt(work);
    setRunning((latest) => (latest === text ? '' : latest));
  };
  return (
    <button type="button" aria-label={label} aria-disabled={running === text} onClick={() => void click()}>
      {text}
    </button>
  );
}

/** Maximum of lines of a growing list. */
export const SHOWN = 200;

/** A line that expands to more. */
export const details = (summary: ComponentChildren, more: ComponentChildren, onToggle?: () => void) => (
  <details onToggle={onToggle}>
    <summary>{summary}</summary>
    {more}
  </details>
);

/** A status, with a color that tells whether it is open, good or bad. */
export const badge = (status: string) => <span class={`badge ${status}`}>{status}</span>;

/** Milliseconds that the sandbox's time is ahead of real time. */
export const sandbox = { aheadMs: 0 };

/** A time, shown by its distance from now; the exact time appears on hover. @param isReal whether `at` is real time, not the sandbox's */
export function Time({ at, isReal = false }: { readonly at: string; readonly isReal?: boolean }) {
  const seconds = (Date.parse(at) - Date.now() - (isReal ? 0 : sandbox.aheadMs)) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (['second', 1] as const);
  return (
    <time dateTime={at} title={at}>
      {DISTANCE.format(Math.trunc(seconds / size), unit)}
    </time>
  );
}

const DISTANCE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const UNITS = [
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
