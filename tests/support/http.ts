import type { Harness } from './harness.js';

/** An answer, read to the end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or undefined if the text is not JSON. */
  readonly body: any;
  readonly text: string;
}

export type Server = Pick<Harness, 'baseUrl'>;

/** A caller with a token, or without one. */
export interface Caller {
  readonly token?: string | undefined;
}

export interface CallOptions extends Caller {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Declares a raw body to be JSON. */
export const jsonType = { 'Content-Type': 'application/json' };

/** One HTTP request to the service; `target` is `METHOD /path?query`. */
export async function call(
  { baseUrl }: Server,
  target: string,
  { token, json, raw, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = target.split(' ');
  const body = json === undefined ? raw : JSON.stringify(json);
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    redirect: 'manual',
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text), text };
}

/** The parsed JSON, or undefined if the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
