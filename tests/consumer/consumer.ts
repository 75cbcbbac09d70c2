import type { Answer } from '../support/http.js';

/** A deployment, and the credentials of a partner. */
export interface Target {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A PDF that the target can fetch; without it, steps that need a document are skipped. */
  readonly documentUrl?: string | undefined;
  /** An order of the tenant; without it, the status by order number is skipped. */
  readonly orderNo?: string | undefined;
}

export interface Sent {
  readonly token?: string | undefined;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly raw?: string;
  readonly authorization?: string;
  /** The status and the example that the mock returns; the service ignores it. */
  readonly prefer?: readonly [status: number, example: string];
}

/** One request as a partner's system sends it; the target is `METHOD /path?query`. */
export async function send(
  baseUrl: string,
  target: string,
  { token, json, form, raw, authorization, prefer }: Sent = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = target.split(' ');
  const body = form ? new URLSearchParams(form).toString() : json === undefined ? raw : JSON.stringify(json);
  const bearer = token ? `Bearer ${token}` : undefined;
  const sent = {
    Accept: 'application/json, application/problem+json',
    Authorization: authorization ?? bearer,
    'Content-Type': form ? 'application/x-www-form-urlencoded' : body === undefined ? undefined : 'application/json',
    Prefer: prefer && `code=${prefer[0]}, example=${prefer[1]}`,
  };
  const headers = Object.entries(sent).flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
  const response = await fetch(baseUrl + path, { method, headers, ...(body === undefined ? {} : { body }) });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(answer), text: answer };
}

export const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
export const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const decimal = expect.stringMatching(/^\d+\.\d\d$/);
export const text = expect.any(String);
export const number = expect.any(Number);
export const boolean = expect.any(Boolean);
/** A list, perhaps empty, of this element only. */
export const listOf = (element: unknown) => expect.arrayOf(element);
/** This value, or null. */
export const orNull = (value: unknown) => ({
  asymmetricMatch(given: unknown) {
    if (given !== null) expect(given).toEqual(value);
    return true;
  },
});

/** Expects a JSON response with this status and the headers of every response. */
export function expectSuccess({ status, headers, body }: Answer, expected: number): void {
  expect({ status, body }).toEqual({ status: expected, body: expect.anything() });
  expect(headers.get('Content-Type')).toMatch(/^application\/json/);
  expectCommonHeaders(headers);
}

/** Expects an error with this status and code in the documented shape. */
export function expectProblem({ status, headers, body }: Answer, expected: number, code: string): void {
  expect({ status, body }).toMatchObject({
    status: expected,
    body: {
      type: `urn:clinical-encounter:problem:${code}`,
      title: text,
      status: expected,
      detail: text,
      instance: `urn:uuid:${body.request_id}`,
      code,
      doc_url: `/docs#/section/errors/${code}`,
      request_id: uuid,
    },
  });
  expect(headers.get('Content-Type')).toMatch(/^application\/(problem\+)?json/);
  expectCommonHeaders(headers);
  if (expected === 401 || expected === 403) expect(headers.get('WWW-Authenticate')).toMatch(/^Bearer realm="/);
}

function expectCommonHeaders(headers: Headers): void {
  expect(headers.get('X-Request-Id')).toEqual(uuid);
  // A release candidate has a suffix (Semantic Versioning 2.0.0).
  expect(headers.get('API-Version')).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/);
}
