import type { paths } from '../../generated/client/contract.js';
import { placed, type ParametersOf } from './requests.js';

type Responding<Body> = { responses: { 200: { content: { 'application/json': Body } } } };

export type ListPath = {
  [Path in keyof paths]: paths[Path] extends { get: Responding<{ data: readonly unknown[] }> } ? Path : never;
}[keyof paths];

/** A page of a list, as in the response. */
export type PageOf<Path extends ListPath> = paths[Path]['get'] extends Responding<infer Page> ? Page : never;

/** An element of a list. */
export type ItemOf<Path extends ListPath> = ElementOf<paths[Path]['get']>;
export type ElementOf<Operation> = Operation extends Responding<{ data: readonly (infer Element)[] }> ? Element : never;

/** The path, query and header parameters of a list, by name. */
export type ListParameters<Path extends ListPath> = ParametersOf<paths[Path]['get']>;

/** The members of a page that the iteration reads. */
interface AnyPage {
  readonly data: readonly unknown[];
  readonly next_cursor?: string | null;
  readonly has_more?: boolean;
  readonly pagination?: { readonly page: number; readonly totalPages: number };
  readonly meta?: { readonly page: number; readonly hasNext: boolean };
}

/** Iterates over the pages of a list, until a page names no next one. */
export async function* pagesOf(
  read: (params: object) => Promise<unknown>,
  path: string,
  parameters: object = {},
): AsyncGenerator<AnyPage> {
  const params = placed(path, parameters);
  let next: object | null = {};
  while (next) {
    const page = (await read({ ...params, query: { ...params.query, ...next } })) as AnyPage;
    yield page;
    next = nextOf(page);
  }
}

export async function* itemsOf(pages: AsyncIterable<AnyPage>): AsyncGenerator {
  for await (const { data } of pages) yield* data;
}

function nextOf({ next_cursor, has_more, pagination, meta }: AnyPage): object | null {
  if (has_more !== undefined) return has_more && next_cursor ? { cursor: next_cursor } : null;
  if (pagination) return pagination.page < pagination.totalPages ? { page: pagination.page + 1 } : null;
  return meta?.hasNext ? { page: meta.page + 1 } : null;
}
