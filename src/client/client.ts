import createFetchClient, {
  type Client as FetchClient,
  type ClientPathsWithMethod,
  type MaybeOptionalInit,
} from 'openapi-fetch';
import type { paths } from '../../generated/client/contract.js';
import { keyedOperations } from '../../generated/client/values.js';
import { ApiError } from './errors.js';
import { itemsOf, pagesOf, type ItemOf, type ListParameters, type ListPath, type PageOf } from './lists.js';
import { findOrCreate, type FindOrCreate } from './patients.js';
import type { Arguments, Methods, ResultOf } from './requests.js';
import { named, type Resources } from './resources.js';
import { authorizedFetch, type ClientOptions } from './transport.js';

type PathOf<Method extends Methods> = ClientPathsWithMethod<FetchClient<paths>, Method>;
/** Options without `parseAs`, because the response's Content-Type decides. */
type Init<Path extends keyof paths, Method extends Methods> = Omit<
  NonNullable<MaybeOptionalInit<paths[Path], Method>>,
  'parseAs'
>;

/** The body of a successful response: JSON, or the bytes of a file; undefined if there is none. */
export type Result<Path extends keyof paths, Method extends Methods> =
  paths[Path] extends Record<Method, infer Operation> ? ResultOf<Operation> : never;

/** Calls an operation by its path. @throws ApiError if the service rejects it; the error of `fetch` */
interface Call<Method extends Methods> {
  <Path extends PathOf<Method>>(path: Path, ...init: Arguments<Init<Path, Method>>): Promise<Result<Path, Method>>;
}

/** A client of the Clinical Encounter Service, typed by its contract: operations by resource and name, or by path. */
export interface Client extends Resources {
  readonly patients: Resources['patients'] & FindOrCreate;
  readonly get: Call<'get'>;
  /** Calls a POST operation. Sends a new Idempotency-Key if the operation accepts one and you give none. */
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /** Iterates over all elements of a list. Fetches pages when needed. */
  list<Path extends ListPath>(path: Path, ...given: Arguments<ListParameters<Path>>): AsyncGenerator<ItemOf<Path>>;
  /** Iterates over the pages of a list. To continue a feed later, store `next_cursor` of its last page. */
  pages<Path extends ListPath>(path: Path, ...given: Arguments<ListParameters<Path>>): AsyncGenerator<PageOf<Path>>;
}

const entityTags = new WeakMap<object, string>();

/** The `ETag` of the response that contained a result, for the header `If-Match`. @throws Error if there was none */
export function etagOf(result: object): string {
  const tag = entityTags.get(result);
  if (tag === undefined) throw new Error('No ETag: pass the result of a call itself, not a copy.');
  return tag;
}

interface Streamed {
  readonly data?: ReadableStream | null;
  readonly response: Response;
}

/** Creates a client. It obtains its token at the first call and renews it before it expires. */
export function createClient({ baseUrl, ...others }: ClientOptions): Client {
  const options = { ...others, baseUrl: baseUrl.replace(/\/+$/, '') };
  const client = createFetchClient<paths>({
    baseUrl: options.baseUrl,
    fetch: authorizedFetch(options),
    // As the contract declares lists: types=a,b
    querySerializer: { array: { style: 'form', explode: false } },
  });
  client.use({
    onRequest({ request, schemaPath }) {
      const takesKey = keyedOperations.some((operation) => operation === `${request.method} ${schemaPath}`);
      if (takesKey && !request.headers.has('Idempotency-Key')) {
        request.headers.set('Idempotency-Key', crypto.randomUUID());
      }
    },
    async onResponse({ response }) {
      if (!response.ok) throw await ApiError.of(response);
    },
  });
  const call = (method: Methods) => async (path: string, init?: object) => {
    // openapi-fetch's types need a method known at compile time; the types above replace them.
    const request = client.request as (method: string, path: string, init: object) => Promise<Streamed>;
    const { data, response } = await request(method, path, { ...init, parseAs: 'stream' });
    if (!data) return undefined;
    if (!response.headers.get('Content-Type')?.includes('json')) return new Uint8Array(await response.arrayBuffer());
    const result = (await response.json()) as object;
    const tag = response.headers.get('ETag');
    if (tag !== null) entityTags.set(result, tag);
    return result;
  };
  const get = call('get');
  const calls = { get, post: call('post'), put: call('put'), patch: call('patch'), delete: call('delete') };
  const pages = (path: string, given?: object) => pagesOf((params) => get(path, { params }), path, given);
  const list = (path: string, given?: object) => itemsOf(pages(path, given));
  const resources = named(calls, list);
  const patients = { ...resources.patients, findOrCreate: findOrCreate(resources.patients) };
  return { ...calls, pages, list, ...resources, patients } as Client;
}
