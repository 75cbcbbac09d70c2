import type { Schemas } from '../contract.js';

/** One page of a numbered list, counted from 1. */
export interface Page {
  readonly page: number;
  readonly limit: number;
}

/** The number of pages; 0 if there are no elements. */
export const totalPages = (total: number, { limit }: Page): number => Math.ceil(total / limit);

export function pageMeta(total: number, { page, limit }: Page): Schemas['PageMeta'] {
  const pages = totalPages(total, { page, limit });
  return { total, page, limit, totalPages: pages, hasNext: page < pages, hasPrev: page > 1 && pages > 0 };
}
