import createFetchClient from 'openapi-fetch';
import type { paths } from '../../generated/client/contract.js';
import { keyedOperations } from '../../generated/client/values.js';
import { ApiError } from './errors.js';
import { itemsOf, pagesOf, type ListParameters, type ListPath, type PageOf } from './lists.js';
import { findOrCreate, type FindOrCreate } from './patients.js';
import type { Arguments } from './requests.js';
import { named, type Call, type Resources } from './resources.js';
import { authorizedFetch, type ClientOptions } from './transport.js';

/** A client of the Clinical Encounter Service, typed by its contract: operations by resource and name. */
export interface Client extends Resources {
  readonly patients: Resources['patients'] & FindOrCreate;
  /** Iterates over the pages of a list. To continue a feed later, store `next_cursor` of its last page. */
  pages<Path extends ListPath>(path: Path, ...given: Arguments<ListParameters<Path>>): AsyncGenerator<PageOf<Path>>;
}

const entityTags = new WeakMap<object, string>();

/** The `ETag` of the response with this result, for the header `If-Match`. @throws Error without one, or for a copy */
export function etagOf(result: object): string {
  const tag = entityTags.get(result);
  if (tag === undefined)
    throw new Error('No ETag: pass the result of a call whose response has one, itself, not a copy.');
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
  const call: Call = async (method, path, init) => {
    // openapi-fetch types only requests known at compile time; `Resources` types these calls.
    const request = client.request as (method: string, path: string, init: object) => Promise<Streamed>;
    const { data, response } = await request(method, path, { ...init, parseAs: 'stream' });
    if (!data) return undefined;
    if (!response.headers.get('Content-Type')?.includes('json')) return new Uint8Array(await response.arrayBuffer());
    const result = (await response.json()) as object;
    const tag = response.headers.get('ETag');
    if (tag !== null) entityTags.set(result, tag);
    return result;
  };
  const pages = (path: string, given?: object, options?: object) =>
    pagesOf((params) => call('GET', path, { params, ...options }), path, given);
  const resources = named(call, (...given) => itemsOf(pages(...given)));
  const patients = { ...resources.patients, findOrCreate: findOrCreate(resources.patients) };
  return { ...resources, patients, pages } as Client;
}
