/** UUIDs may be sent in capitals (RFC 9562 §4) but are compared and stored in lower case, as PostgreSQL returns them. */
export const canonicalUuid = (id: string): string => id.toLowerCase();
