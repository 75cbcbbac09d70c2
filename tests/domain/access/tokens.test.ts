import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { openTokens } from '../../../src/adapters/tokens/tokens.js';
import { alterToken, es256, makeToken, readToken, unsignToken } from '../../support/tokens.js';

const issuer = 'https://encounters.example.com';
const now = new Date('2026-11-20T16:00:00.000Z');
const seconds = now.getTime() / 1000;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { kid: 'ours', privateKey, publicKey, createdAt: now };
const tokens = openTokens(
  { current: async () => [key] },
  () => issuer,
  () => 'id',
);
const claims = {
  client_id: 'ces_client',
  tenant_id: 'lakeside',
  scope: 'admin:clinic',
  iat: seconds,
  exp: seconds + 60,
};
const [token, refreshToken] = [await tokens.sign('access', claims), await tokens.sign('refresh', claims)];

/** The token with these changes, signed by the service's key, so that only a change can cause a refusal. */
const altered = (header: object, payload: object = {}): string => alterToken(token, privateKey, header, payload);
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const strangersJwk = createPublicKey(stranger).export({ format: 'jwk' });
const publicPem = () => publicKey.export({ type: 'spki', format: 'pem' }).toString();
const hs256 = (secret: string) => (input: Buffer) => createHmac('sha256', secret).update(input).digest();
const parts = () => readToken(token);
const withHeader = (header: object) => ({ ...parts(), header: { ...parts().header, ...header } });
const replacePart = (index: number, text: string) => token.split('.').with(index, text).join('.');
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('an access token', () => {
  it.each<[string, () => string]>([
    ['only garbage', () => 'garbage'],
    ['only 12 KB of garbage', () => 'x'.repeat(12_000)],
    ['only 12 KB of garbage with dots', () => `${'x'.repeat(6_000)}.${'y'.repeat(6_000)}.z`],
    ['empty parts', () => '..'],
    ['a fourth part', () => `${token}.x`],
    ['a header that is not JSON', () => replacePart(0, 'bm90IGpzb24')],
    ['a header of null', () => replacePart(0, json(null))],
    ['a header that is a number', () => replacePart(0, json(5))],
    ['a type that is not a string', () => altered({ typ: 5 })],
    ['no type', () => altered({ typ: undefined })],
    ['the type of any JWT', () => altered({ typ: 'JWT' })],
    ['the type of a refresh token', () => altered({ typ: 'rt+jwt' })],
    ['a key id that is not a string', () => altered({ kid: { a: 1 } })],
    ['no key id', () => altered({ kid: undefined })],
    ['an unknown key id', () => altered({ kid: 'theirs' })],
    ['algorithm none', () => unsignToken(token)],
    ['algorithm none and our signature', () => altered({ alg: 'none' })],
    ['HS256 with our public key as the secret', () => makeToken(withHeader({ alg: 'HS256' }), hs256(publicPem()))],
    ['another algorithm of the same key', () => altered({ alg: 'ES384' })],
    ['the signature of another key', () => makeToken(parts(), es256(stranger))],
    ['the signature of another key and a past end', () => alterToken(token, stranger, {}, { exp: 1 })],
    ['an embedded key in the header', () => makeToken(withHeader({ jwk: strangersJwk }), es256(stranger))],
    ['no signature', () => replacePart(2, '')],
    ['a signature of zeros', () => replacePart(2, Buffer.alloc(64).toString('base64url'))],
    ['a changed payload', () => replacePart(1, json({ ...parts().payload, tenant_id: 'other-tenant' }))],
    ['a payload that is not JSON', () => replacePart(1, 'bm90IGpzb24')],
    ['another issuer', () => altered({}, { iss: 'https://elsewhere.example.com' })],
    ['no issuer', () => altered({}, { iss: undefined })],
    ['another audience', () => altered({}, { aud: 'https://elsewhere.example.com' })],
    ['the audience of a refresh token', () => altered({}, { aud: `${issuer}/oauth/token` })],
    ['no audience', () => altered({}, { aud: undefined })],
    ['no expiry', () => altered({}, { exp: undefined })],
    ['an expiry that is not a number', () => altered({}, { exp: '9999999999' })],
    ['a start in the future', () => altered({}, { nbf: seconds + 60 })],
    ['no tenant', () => altered({}, { tenant_id: undefined })],
    ['no client', () => altered({}, { client_id: undefined })],
    ['no scope', () => altered({}, { scope: undefined })],
    ['a scope that is a list', () => altered({}, { scope: ['admin:clinic'] })],
    ['all parts of a valid refresh token', () => refreshToken],
  ])('is refused with %s', async (_name, tokenOf) => {
    expect(await tokens.verify('access', tokenOf(), now)).toBe('invalid');
  });

  it('is accepted when it is signed again without a change, so each refusal comes from its change', async () => {
    expect(await tokens.verify('access', altered({}), now)).toMatchObject(claims);
  });
});

describe('a refresh token', () => {
  const forged = (payload: object): string => alterToken(refreshToken, privateKey, {}, payload);

  it.each<[string, () => string]>([
    ['an access token', () => token],
    ['a token for another audience', () => forged({ aud: issuer })],
  ])('is refused if it is %s', async (_name, tokenOf) => {
    expect(await tokens.verify('refresh', tokenOf(), now)).toBe('invalid');
    expect(await tokens.verify('refresh', forged({}), now)).toMatchObject(claims);
  });
});
