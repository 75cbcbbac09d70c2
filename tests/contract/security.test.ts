import { createHmac, generateKeyPairSync } from 'node:crypto';
import type { ProblemCode } from '../../src/contract.js';
import { deactivateApiClient, revokeTokens } from '../../src/domain/access/apiClients.js';
import { isPermission, permissions } from '../../src/domain/access/permissions.js';
import { operations, securedOperations, targetOf, type ContractOperation } from '../support/contract.js';
import { newClient, newPartner, newToken, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { basicAuth, es256, login, makeToken, readToken } from '../support/tokens.js';

const realm = 'Bearer realm="clinical-encounter"';
const foreignKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

/** A request that is wrong in every place where it can be wrong. */
function sendWrong(operation: ContractOperation, authorization: string | undefined): Promise<Answer> {
  const path = operation.path.replaceAll(/\{\w+\}/g, '!');
  return send(operation, `${operation.method} ${path}?nonsense=1`, authorization, '{"');
}

/** A request as the contract's examples have it. */
function sendRight(operation: ContractOperation, authorization: string | undefined): Promise<Answer> {
  const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  return send(operation, targetOf(operation), authorization, JSON.stringify(example?.value));
}

function send(
  { requestBody }: ContractOperation,
  target: string,
  authorization: string | undefined,
  raw: string,
): Promise<Answer> {
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  const json = { 'Content-Type': 'application/json' };
  return call(harness, target, requestBody ? { raw, headers: { ...headers, ...json } } : { headers });
}

/** The partner's own token with changes, signed by another key or in another way. */
function forged(changes: { header?: object; payload?: object }, signature: (input: Buffer) => Buffer): string {
  const { header, payload } = readToken(partner.token);
  const parts = { header: { ...header, ...changes.header }, payload: { ...payload, ...changes.payload } };
  return `Bearer ${makeToken(parts, signature)}`;
}

const signed = async (changes: { header?: object; payload?: object }): Promise<string> => {
  const [{ privateKey }] = await harness.services.keys.current();
  return forged(changes, es256(privateKey));
};

/** Refused tokens: what they are, their Authorization header, the code that they get. */
const refused: [string, () => string | undefined | Promise<string | undefined>, ProblemCode][] = [
  ['no token', () => undefined, 'token_missing'],
  ['credentials of the token endpoint', () => basicAuth(partner), 'token_missing'],
  ['an empty token', () => 'Bearer', 'token_invalid'],
  ['garbage', () => 'Bearer garbage', 'token_invalid'],
  ['parts that are not JSON', () => 'Bearer e30.e30x.e30', 'token_invalid'],
  ['a token without a signature', () => forged({ header: { alg: 'none' } }, () => Buffer.alloc(0)), 'token_invalid'],
  ['a token of a foreign key', () => forged({}, es256(foreignKey)), 'token_invalid'],
  ['a token of an unknown key', () => forged({ header: { kid: 'mine' } }, es256(foreignKey)), 'token_invalid'],
  [
    'a token with another tenant under its signature',
    () => {
      const [header, , signature] = partner.token.split('.');
      const payload = Buffer.from(JSON.stringify({ ...readToken(partner.token).payload, tenant_id: 'other' }));
      return `Bearer ${header}.${payload.toString('base64url')}.${signature}`;
    },
    'token_invalid',
  ],
  [
    'a token that is signed with the public key as a secret',
    async () => {
      const [{ publicKey }] = await harness.services.keys.current();
      const secret = publicKey.export({ type: 'spki', format: 'pem' });
      return forged({ header: { alg: 'HS256' } }, (input) => createHmac('sha256', secret).update(input).digest());
    },
    'token_invalid',
  ],
  ['a token of another issuer', () => signed({ payload: { iss: 'https://elsewhere.example' } }), 'token_invalid'],
  ['a token for another audience', () => signed({ payload: { aud: 'https://elsewhere.example' } }), 'token_invalid'],
  ['a refresh token', async () => `Bearer ${(await login(harness, partner)).body.refresh_token}`, 'token_invalid'],
  ['an expired token', () => signed({ payload: { exp: harness.clock.now.getTime() / 1000 - 31 } }), 'token_expired'],
  [
    'a revoked token',
    async () => {
      const { token, clientId } = await newClient(harness, partner.tenantId);
      await revokeTokens(harness.domain, clientId);
      return `Bearer ${token}`;
    },
    'token_invalid',
  ],
  [
    'a token of an inactive client',
    async () => {
      const { token, clientId } = await newClient(harness, partner.tenantId);
      await deactivateApiClient(harness.domain, clientId);
      return `Bearer ${token}`;
    },
    'client_inactive',
  ],
  [
    'a token of an inactive tenant',
    async () => {
      const { token, tenantId } = await newPartner(harness);
      await harness.domain.db.tenant.update({ where: { id: tenantId }, data: { isActive: false } });
      return `Bearer ${token}`;
    },
    'client_inactive',
  ],
];

it('says which token is right, or the refusals below would mean nothing', async () => {
  for (const operation of securedOperations) {
    const { token } = await newClient(harness, partner.tenantId, operation.scopes.filter(isPermission));
    expect(await sendWrong(operation, `Bearer ${token}`)).toMatchObject({ status: 400 });
    expect(await sendWrong(operation, await signed({}))).toMatchObject({ status: 400 });
  }
});

describe.each(securedOperations.map((operation) => [operation.operationId, operation] as const))(
  '%s',
  (_id, operation) => {
    it.each(refused)('refuses %s, whatever else is wrong with the request', async (_what, authorization, code) => {
      const header = await authorization();
      const challenge = code === 'token_missing' ? realm : `${realm}, error="invalid_token"`;
      for (const answer of [await sendRight(operation, header), await sendWrong(operation, header)]) {
        expectProblem(answer, 401, code);
        expect(answer.headers.get('WWW-Authenticate')).toBe(challenge);
      }
    });

    it('refuses a token without its permission, whatever else is wrong with the request', async () => {
      const held = permissions.filter((permission) => !operation.scopes.includes(permission));
      const { token } = await newClient(harness, partner.tenantId, held);
      const narrowed = (await login(harness, partner, { scope: held.join(' ') })).body.access_token;
      const challenge = `${realm}, error="insufficient_scope", scope="${operation.scopes.join(' ')}"`;
      for (const header of [`Bearer ${token}`, `Bearer ${narrowed}`]) {
        for (const answer of [await sendRight(operation, header), await sendWrong(operation, header)]) {
          expectProblem(answer, 403, 'insufficient_permission');
          expect(answer.headers.get('WWW-Authenticate')).toBe(challenge);
        }
      }
    });

    it('refuses a client that was deactivated while it used its token, within 30 seconds', async () => {
      const { token, clientId } = await newClient(harness, partner.tenantId);
      expect(await sendWrong(operation, `Bearer ${token}`)).toMatchObject({ status: 400 });
      await deactivateApiClient(harness.domain, clientId);
      harness.clock.advance(30);
      expectProblem(await sendWrong(operation, `Bearer ${token}`), 401, 'client_inactive');
    });
  },
);

describe('operations without security', () => {
  const others = operations.filter(({ security, method }) => security.length === 0 && method === 'GET');

  it.each(others)('$operationId answers everybody, and does not look at a token', async (operation) => {
    for (const header of [undefined, 'Bearer garbage', `Bearer ${await newToken(harness, partner)}`]) {
      expect(await sendRight(operation, header)).toMatchObject({ status: 200 });
    }
  });
});
