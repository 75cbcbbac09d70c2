/** The canonical form of a UUID: callers may send capitals (RFC 9562 §4), but PostgreSQL returns lower case. */
export const canonicalUuid = (id: string): string => id.toLowerCase();

/** Patterns of a canonical UUID: one as a part of other patterns, and one for a whole text. */
export const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const onlyUuid = new RegExp(`^${UUID}$`);
/** {@link onlyUuid}, also with capitals. */
export const anyUuid = new RegExp(`^${UUID}$`, 'i');
