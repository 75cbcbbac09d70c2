import type { Schemas } from '../contract.js';
import { totalPages, type Page } from '../domain/values/paging.js';

/** The `meta` of numbered lists. */
export function pageMeta(total: number, { page, limit }: Page): Schemas['PageMeta'] {
  const pages = totalPages(total, { page, limit });
  return { total, page, limit, totalPages: pages, hasNext: page < pages, hasPrev: page > 1 && pages > 0 };
}
