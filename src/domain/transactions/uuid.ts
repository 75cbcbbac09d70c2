/** UUIDs may be sent in capitals (RFC 9562 §4) but are compared and stored in lower case, as PostgreSQL returns them. */
export const canonicalUuid = (id: string): string => id.toLowerCase();

/** A canonical UUID, to make regular expressions of; and one of it alone. */
export const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const onlyUuid = new RegExp(`^${UUID}$`);
