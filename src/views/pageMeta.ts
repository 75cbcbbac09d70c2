import type { Schemas } from '../contract.js';

/** One page of a numbered list (D-24): `page` from 1, `limit` elements. Defaults come from the contract. */
export interface Page {
  readonly page: number;
  readonly limit: number;
}

/** 0 when there is nothing. */
export const totalPages = (total: number, { limit }: Page): number => Math.ceil(total / limit);

/** The `meta` of numbered lists. */
export function pageMeta(total: number, { page, limit }: Page): Schemas['PageMeta'] {
  const pages = totalPages(total, { page, limit });
  return { total, page, limit, totalPages: pages, hasNext: page < pages, hasPrev: page > 1 && pages > 0 };
}
