/** The element of the page with this id. @throws Error if there is none */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found)
    throw new Error(
      `The page has no element #${id}: reload the page; if that does not help, add the element to its HTML.`,
    );
  return found;
}

/** Shows a message, which screen readers announce, too. */
export function notify(text: string, isError = false): void {
  const notice = part('notice');
  notice.className = isError ? 'error' : '';
  notice.textContent = text;
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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

/** Does some work with the fields of a form whenever it is submitted, but once at a time. */
export function onSubmit(id: string, work: (fields: URLSearchParams) => Promise<unknown>): void {
  let isBusy = false;
  part(id).addEventListener('submit', (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    const fields = [...new FormData(event.currentTarget as HTMLFormElement).entries()] as [string, string][];
    void attempt(() => work(new URLSearchParams(fields))).finally(() => (isBusy = false));
  });
}
