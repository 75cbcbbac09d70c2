/** Caches the result or error of a call for some milliseconds; concurrent callers share the call. */
export function sharedFor<T>(milliseconds: number, ask: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  const forget = (): void => void (known = undefined);
  return () => {
    if (known) return known;
    const asked = (known = ask());
    const later = (): void => void setTimeout(forget, milliseconds).unref();
    asked.then(later, later);
    return asked;
  };
}
