import type { paths } from '../../generated/client/contract.js';

type Page = { readonly data: readonly unknown[] };
type BodyOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

/** Paths of lists that belong to nothing. */
export type ListPath = {
  [Path in keyof paths]: Path extends `${string}{${string}` ? never : BodyOf<Path> extends Page ? Path : never;
}[keyof paths];

/** An element of a list. */
export type ItemOf<Path extends ListPath> =
  BodyOf<Path> extends { readonly data: readonly (infer Item)[] } ? Item : never;

/** The parameters of a list. */
export type QueryOf<Path extends ListPath> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;

/** What the pages of the service's lists say of the next one. */
interface AnyPage extends Page {
  readonly next_cursor?: string | null;
  readonly has_more?: boolean;
  readonly pagination?: { readonly page: number; readonly totalPages: number };
  readonly meta?: { readonly page: number; readonly hasNext: boolean };
}

/** Feeds go on after a cursor, other lists are continued at it. */
const feeds = ['/events', '/audit-events'];

/** The elements of a list, whatever its form: by pages or by cursors. */
export async function* itemsOf<Item>(
  read: (query: object) => Promise<unknown>,
  path: string,
  query: object = {},
): AsyncGenerator<Item> {
  let next: object | null = query;
  while (next) {
    const page: AnyPage = (await read(next)) as AnyPage;
    yield* page.data as Item[];
    const following = nextOf(page, feeds.includes(path) ? 'after' : 'cursor');
    next = following && { ...query, ...following };
  }
}

function nextOf({ next_cursor, has_more, pagination, meta }: AnyPage, cursor: string): object | null {
  if (has_more !== undefined) return has_more ? { [cursor]: next_cursor } : null;
  if (pagination) return pagination.page < pagination.totalPages ? { page: pagination.page + 1 } : null;
  return meta?.hasNext ? { page: meta.page + 1 } : null;
}
