import type { ServerResponse } from 'node:http';
import type { Route } from '../../src/http/endpoint/route.js';
import { contractFaults } from './contract.js';
import { parsed } from './http.js';

/**
 * Checks an answer of an operation, with its headers, against the contract as it leaves the service, whether the
 * operation, the validation or the error handler sends it.
 * @param faults collects the differences
 */
export function observe(res: ServerResponse, faults: string[]): void {
  let text = '';
  res.end = new Proxy(res.end, {
    apply(end, self, args: unknown[]) {
      const [chunk] = args;
      if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) text = chunk.toString();
      return Reflect.apply(end, self, args);
    },
  });
  // `getHeader` does not return headers that `writeHead` sends with the status.
  let written: Record<string, unknown> = {};
  res.writeHead = new Proxy(res.writeHead, {
    apply(writeHead, self, args: unknown[]) {
      written = Object.fromEntries(
        Object.entries(Object(args.at(-1))).map(([name, value]) => [name.toLowerCase(), value]),
      );
      return Reflect.apply(writeHead, self, args);
    },
  });
  const headerOf = (name: string): string | undefined =>
    (res.getHeader(name) ?? written[name.toLowerCase()])?.toString();
  res.once('finish', () => {
    const { route } = ('locals' in res ? res.locals : {}) as { route?: Route };
    if (!route) return;
    const contentType = String(headerOf('Content-Type'));
    const sent = { status: res.statusCode, contentType, header: headerOf, body: parsed(text) };
    faults.push(...contractFaults(route.operationId, sent));
  });
}
