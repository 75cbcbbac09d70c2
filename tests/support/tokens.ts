import { createPublicKey, sign, verify, type JsonWebKey, type KeyObject } from 'node:crypto';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { newToken, type Credentials, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type CallOptions } from './http.js';

/** The two readable parts of a JWT. They are made without a library, which would refuse invalid ones. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());

/** Decodes a token without checking its signature. */
export function readToken(token: string): TokenParts {
  const [header, payload] = token.split('.');
  return { header: decode(header), payload: decode(payload) };
}

/** Makes a token of these parts with a signature of its input. */
export function makeToken({ header, payload }: TokenParts, signature: (input: Buffer) => Buffer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signature(Buffer.from(input)).toString('base64url')}`;
}

/** Signs as ES256 does (RFC 7518 §3.4). */
export const es256 =
  (key: KeyObject) =>
  (input: Buffer): Buffer =>
    sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });

/** Changes members of the token and signs it again; `undefined` removes a member. */
export function alterToken(token: string, key: KeyObject, header: object, payload: object = {}): string {
  const parts = readToken(token);
  return makeToken({ header: { ...parts.header, ...header }, payload: { ...parts.payload, ...payload } }, es256(key));
}

/** The token with the algorithm "none" (RFC 7519 §6). */
export function unsignToken(token: string): string {
  const { header, payload } = readToken(token);
  return makeToken({ header: { ...header, alg: 'none' }, payload }, () => Buffer.alloc(0));
}

/** Whether the key of a JWKS verifies the token. */
export function isSignedBy(token: string, jwk: JsonWebKey): boolean {
  const [header, payload, signature = ''] = token.split('.');
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const;
  return verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
}

/** The body of a token request by client credentials. */
export const loginBody = ({ clientId, clientSecret }: Credentials, more: Record<string, unknown> = {}) => ({
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: clientSecret,
  ...more,
});

/** Logs in; `more` adds members to the body. */
export function login(harness: Harness, credentials: Credentials, more: Record<string, unknown> = {}): Promise<Answer> {
  return call(harness, 'POST /oauth/token', { json: loginBody(credentials, more) });
}

/** Gets new tokens for a refresh token; `more` adds members to the body. */
export function refresh(harness: Harness, credentials: Credentials, token: string, more = {}): Promise<Answer> {
  return login(harness, credentials, { grant_type: 'refresh_token', refresh_token: token, ...more });
}

/** Client credentials as HTTP Basic. */
export function basicAuth({ clientId, clientSecret }: Credentials): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
}

/** Sends the fields as a form. */
export function asForm(fields: Record<string, string> | [string, string][]): CallOptions {
  return {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  };
}

/** A client of the preset "pharmacy" that is limited to these pharmacies, with a token. */
export async function newPharmacyClient(
  harness: Harness,
  { tenantId }: Pick<Partner, 'tenantId'>,
  ...pharmacies: string[]
): Promise<Partner> {
  const client = await createApiClient(harness.domain, { tenant: tenantId, preset: 'pharmacy', pharmacies });
  return { ...client, tenantId, token: await newToken(harness, client) };
}

/** Does the work at another time, with a token that is issued at that time. */
export async function atTime<T>(
  harness: Harness,
  partner: Partner,
  time: Date | string,
  work: (then: Partner) => Promise<T>,
): Promise<T> {
  const { now } = harness.clock;
  harness.clock.now = new Date(time);
  const then = { ...partner, token: await newToken(harness, partner) };
  return work(then).finally(() => (harness.clock.now = now));
}
