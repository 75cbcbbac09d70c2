import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { buildMatcher } from '../../src/http/endpoint/matcher.js';
import { operations, type Schema } from './contract.js';
import { listenOnLoopback } from './fileHost.js';

/** A value, a type of event and a member that no contract has yet. */
export const laterValue = 'added_later';
export const laterType = 'something.added_later';
const laterMember = { addedLater: { text: 'new' } };

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members that a schema describes, those of `allOf` included. */
export const membersOf = ({ properties = {}, allOf = [] }: Schema): Readonly<Record<string, Schema>> =>
  Object.assign({}, properties, ...allOf.map(membersOf)) as Readonly<Record<string, Schema>>;

/**
 * A response as a later version may send it: each described object has another member, each open vocabulary another
 * value, and each event another type.
 */
export function grown(schema: Schema, value: unknown): unknown {
  if (schema['x-extensible-enum'] && typeof value === 'string') return laterValue;
  if (Array.isArray(value)) return value.map((item) => grown(schema.items ?? {}, item));
  const members = membersOf(schema);
  if (!isObject(value)) return value;
  if (schema.oneOf) return { ...value, type: laterType, ...laterMember };
  if (Object.keys(members).length === 0) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, grown(members[name] ?? {}, member)]);
  return { ...Object.fromEntries(entries), ...laterMember } as object;
}

/** Starts a server on loopback that passes requests to the service, and its responses back as a later version sends them. */
export async function startLaterService(baseUrl: string): Promise<{ readonly baseUrl: string; close(): void }> {
  const match = buildMatcher(operations.map((operation) => ({ ...operation, permissions: operation.security })));
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const [path = ''] = url.split('?');
    const matched = match(method, path);
    const declared = typeof matched === 'object' && 'operation' in matched ? matched.operation.responses : {};
    const sent = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    for (const name of ['connection', 'content-length', 'host', 'transfer-encoding']) sent.delete(name);
    const forward = async (): Promise<void> => {
      const body = method === 'GET' ? null : await buffer(request);
      const answer = await fetch(`${baseUrl}${url}`, { method, headers: sent, body });
      const schema = declared[answer.status]?.content?.['application/json']?.schema ?? {};
      const type = answer.headers.get('Content-Type') ?? 'application/json';
      response.writeHead(answer.status, { 'Content-Type': type });
      response.end(JSON.stringify(grown(schema, await answer.json())));
    };
    void forward();
  });
  const port = await listenOnLoopback(server);
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => server.close() };
}
