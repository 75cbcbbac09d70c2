const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The name of a request: the caller's `X-Request-Id` if that is a UUID, otherwise a new one. */
export function requestIdFor(given: string | string[] | undefined, newId: () => string): string {
  return typeof given === 'string' && UUID.test(given) ? given.toLowerCase() : newId();
}
