/** One page of a numbered list (D-24): `page` from 1, `limit` elements. Defaults come from the contract. */
export interface Page {
  readonly page: number;
  readonly limit: number;
}

/** 0 when there is nothing. */
export const totalPages = (total: number, { limit }: Page): number => Math.ceil(total / limit);

/**
 * A search term as it is looked for in lower-cased key columns; undefined when blank. Lower case is taken of one
 * character at a time as PostgreSQL does it: in a whole text a final Σ would become another letter than in the column.
 */
export function searchNeedle(search: string | undefined): string | undefined {
  return Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('') || undefined;
}
