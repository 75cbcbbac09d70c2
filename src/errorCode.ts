/**
 * The `code` of an error of Node or a library (`ENOENT`, `ECONNRESET`, …); undefined when it has none. Told by the property,
 * not by `instanceof`, which is false for errors of another realm.
 */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
