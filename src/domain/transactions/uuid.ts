/** Lower-cases a UUID: callers may send capitals (RFC 9562 §4), and PostgreSQL returns lower case. */
export const canonicalUuid = (id: string): string => id.toLowerCase();

/** Matches a canonical UUID: as the source of a pattern, and as a whole text. */
export const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const onlyUuid = new RegExp(`^${UUID}$`);
