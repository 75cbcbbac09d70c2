/** Returns a signal that is aborted by the given one, or after a time in milliseconds. */
export function withTimeLimit(signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  // Node 20 loses a limit without a listener in the next garbage collection.
  limit.onabort = () => undefined;
  return AbortSignal.any([signal, limit]);
}
