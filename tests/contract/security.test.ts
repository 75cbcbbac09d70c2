import { createHmac, generateKeyPairSync } from 'node:crypto';
import type { Permission, ProblemCode } from '../../src/contract.js';
import { deactivateApiClient, revokeTokens } from '../../src/domain/access/apiClients.js';
import { isPermission, permissions } from '../../src/domain/access/permissions.js';
import { seedCast } from '../support/cast.js';
import { operations, requiredHeaders, securedOperations, targetOf } from '../support/contract.js';
import type { ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newClient, newPartner, newToken, type Partner } from '../support/factories.js';
import { useHarness } from '../support/harness.js';
import { call, jsonType, type Answer } from '../support/http.js';
import { oncePerName } from '../support/oncePerName.js';
import { expectProblem } from '../support/refusals.js';
import { thingsOf } from '../support/sandbox.js';
import { basicAuth, es256, login, makeToken, readToken } from '../support/tokens.js';

const realm = 'Bearer realm="clinical-encounter"';
const foreignKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const harness = useHarness();
let partner: Partner;
beforeAll(async () => {
  partner = await seedCast(harness);
});

type Authorization = string | undefined;

/** Sends a request with a wrong path, query and body. */
function sendWrong(operation: ContractOperation, authorization: Authorization): Promise<Answer> {
  const path = operation.path.replaceAll(/\{\w+\}/g, '!');
  return send(operation, `${operation.method} ${path}?nonsense=1`, authorization, '{"');
}

/** Sends the contract's example, which a valid token would make succeed. */
function sendRight(operation: ContractOperation, authorization: Authorization): Promise<Answer> {
  const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  return send(operation, targetOf(operation), authorization, JSON.stringify(example?.value));
}

function send(operation: ContractOperation, target: string, value: Authorization, raw: string): Promise<Answer> {
  const headers = { ...requiredHeaders(operation), ...(value === undefined ? {} : { Authorization: value }) };
  return call(harness, target, operation.requestBody ? { raw, headers: { ...headers, ...jsonType } } : { headers });
}

interface Changes {
  readonly header?: object;
  readonly payload?: object;
}

/** The partner's token with changes and another signature. */
function forged(changes: Changes, signature: (input: Buffer) => Buffer): string {
  const { header, payload } = readToken(partner.token);
  const parts = { header: { ...header, ...changes.header }, payload: { ...payload, ...changes.payload } };
  return `Bearer ${makeToken(parts, signature)}`;
}

const signed = async (changes: Changes): Promise<string> => {
  const [{ privateKey }] = await harness.services.keys.current();
  return forged(changes, es256(privateKey));
};

/** Refused tokens: title, Authorization header, code of the refusal. */
const refused: [string, () => Authorization | Promise<Authorization>, ProblemCode][] = [
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
      await harness.domain.db.prisma.tenant.update({ where: { id: tenantId }, data: { isActive: false } });
      return `Bearer ${token}`;
    },
    'client_inactive',
  ],
];

const tokenOnce = oncePerName<string>();

/** A token of a client with only these permissions; operations with equal permissions share it. */
const tokenWith = (held: readonly Permission[]): Promise<string> =>
  tokenOnce(held.join(' '), async () => (await newClient(harness, partner.tenantId, held)).token);

const needed = ({ scopes }: ContractOperation): Permission[] => scopes.filter(isPermission);
const nameOf = ({ operationId }: ContractOperation): string => operationId;
/** Checks every operation that needs a token, four at a time. */
const everyOperation = (check: (operation: ContractOperation) => Promise<void>): Promise<void> =>
  everyCase(securedOperations, nameOf, check, 4);

it('every operation accepts a valid token with its permission, so the refusals in these tests are meaningful', () =>
  everyCase(securedOperations, nameOf, async (operation) => {
    const token = await tokenWith(needed(operation));
    expect(await sendWrong(operation, `Bearer ${token}`)).toMatchObject({ status: 400 });
    expect(await sendWrong(operation, await signed({}))).toMatchObject({ status: 400 });
  }));

describe('every operation', () => {
  /** All records of the partner except its clients, which the tests create. */
  async function things(): Promise<object> {
    const { api_client: _clients, api_client_secret: _secrets, ...others } = await thingsOf(harness, partner.tenantId);
    return others;
  }
  let before: object;
  beforeAll(async () => {
    before = await things();
  });
  afterEach(async () => {
    expect(await things()).toEqual(before);
  });

  function expectRefusal(answer: Answer, [status, code]: [number, ProblemCode], challenge: string): void {
    expectProblem(answer, status, code);
    expect(answer.headers.get('WWW-Authenticate')).toBe(challenge);
  }

  it('answers 401 to a missing or invalid token before it validates the request', async () => {
    const headers = await Promise.all(
      refused.map(async ([kind, make, code]) => ({ kind, header: await make(), code })),
    );
    // Each operation gets valid and wrong requests, and so does each kind of token, but not each pair of them.
    const cases = securedOperations.flatMap((operation, row) =>
      headers.map((refusal, column) => ({ ...refusal, operation, send: (row + column) % 2 ? sendRight : sendWrong })),
    );
    const titleOf = ({ operation, kind }: (typeof cases)[number]): string => `${nameOf(operation)}: ${kind}`;
    await everyCase(
      cases,
      titleOf,
      async ({ operation, header, code, send: sendTo }) => {
        const challenge = code === 'token_missing' ? realm : `${realm}, error="invalid_token"`;
        expectRefusal(await sendTo(operation, header), [401, code], challenge);
      },
      4,
    );
  }, 120_000);

  it('answers 403 to a token without its permission before it validates the request', () =>
    everyOperation(async (operation) => {
      const held = permissions.filter((permission) => !operation.scopes.includes(permission));
      const narrowed = (await login(harness, partner, { scope: held.join(' ') })).body.access_token;
      const challenge = `${realm}, error="insufficient_scope", scope="${operation.scopes.join(' ')}"`;
      for (const token of [await tokenWith(held), narrowed]) {
        for (const sendTo of [sendRight, sendWrong]) {
          const answer = await sendTo(operation, `Bearer ${token}`);
          expectRefusal(answer, [403, 'insufficient_permission'], challenge);
        }
      }
    }));

  it('answers 401 client_inactive within 30 seconds of the deactivation of a client in use', async () => {
    const { token, clientId } = await newClient(harness, partner.tenantId);
    await everyOperation(async (operation) => {
      expect(await sendWrong(operation, `Bearer ${token}`)).toMatchObject({ status: 400 });
    });
    await deactivateApiClient(harness.domain, clientId);
    harness.clock.advance(30);
    await everyOperation(async (operation) =>
      expectProblem(await sendWrong(operation, `Bearer ${token}`), 401, 'client_inactive'),
    );
  });
});

it('an operation without security ignores a missing, invalid or valid token', () => {
  const others = operations.filter(({ security, method }) => security.length === 0 && method === 'GET');
  return everyCase(others, nameOf, async (operation) => {
    for (const header of [undefined, 'Bearer garbage', `Bearer ${await newToken(harness, partner)}`]) {
      expect(await sendRight(operation, header)).toMatchObject({ status: 200 });
    }
  });
});
