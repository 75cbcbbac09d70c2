/** One page of a numbered list (D-24): `page` from 1, `limit` elements. Defaults come from the contract. */
export interface Page {
  readonly page: number;
  readonly limit: number;
}

/** Prisma's words for a page. */
export const pageSlice = ({ page, limit }: Page): { skip: number; take: number } => ({
  skip: (page - 1) * limit,
  take: limit,
});

/** 0 when there is nothing. */
export const totalPages = (total: number, { limit }: Page): number => Math.ceil(total / limit);

/**
 * A search term as a LIKE pattern's text, matched against lower-cased key columns; undefined when blank.
 * Prisma passes `contains` on unescaped, so that % and _ would match anything. Lower case is taken of one character
 * at a time as PostgreSQL does it: in a whole text a final Σ would become another letter than in the column.
 */
export function searchNeedle(search: string | undefined): string | undefined {
  const needle = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  return needle ? needle.replace(/[\\%_]/g, '\\$&') : undefined;
}
