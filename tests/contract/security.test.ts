import type { Permission, ProblemCode } from '../../src/contract.js';
import { isPermission, permissions } from '../../src/domain/access/permissions.js';
import { seedCast } from '../support/cast.js';
import { exampleBody, operations, requiredHeaders, securedOperations, targetOf } from '../support/contract.js';
import type { ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newClient, newToken } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, jsonType, type Answer } from '../support/http.js';
import { oncePerName } from '../support/oncePerName.js';
import { expectProblem, unauthenticated } from '../support/refusals.js';
import { thingsOf } from '../support/sandbox.js';
import { basicAuth, login } from '../support/tokens.js';

const realm = 'Bearer realm="clinical-encounter"';

const harness = await openHarness();
const partner = await seedCast(harness);

type Authorization = string | undefined;

/** Sends a request with a wrong path, query and body. */
function sendWrong(operation: ContractOperation, authorization: Authorization): Promise<Answer> {
  const path = operation.path.replaceAll(/\{\w+\}/g, '!');
  return send(operation, `${operation.method} ${path}?nonsense=1`, authorization, '{"');
}

/** Sends the contract's example, which a valid token would make succeed. */
function sendRight(operation: ContractOperation, authorization: Authorization): Promise<Answer> {
  const raw = operation.requestBody ? JSON.stringify(exampleBody(operation)) : '';
  return send(operation, targetOf(operation), authorization, raw);
}

function send(operation: ContractOperation, target: string, value: Authorization, raw: string): Promise<Answer> {
  const headers = { ...requiredHeaders(operation), ...(value === undefined ? {} : { Authorization: value }) };
  return call(harness, target, operation.requestBody ? { raw, headers: { ...headers, ...jsonType } } : { headers });
}

/** Refused tokens: title, Authorization header, code of the refusal. tests/domain/access has every kind of forgery. */
const refused: [string, () => Authorization | Promise<Authorization>, ProblemCode][] = [
  ...unauthenticated.map(([title, make, code]): (typeof refused)[number] => [title, () => bearer(make), code]),
  ['credentials of the token endpoint', () => basicAuth(partner), 'token_missing'],
  ['a refresh token', async () => `Bearer ${(await login(harness, partner)).body.refresh_token}`, 'token_invalid'],
];
async function bearer(make: (typeof unauthenticated)[number][1]): Promise<Authorization> {
  const token = await make(harness, partner);
  return token === undefined ? undefined : `Bearer ${token}`;
}

const tokenOnce = oncePerName<string>();

/** A token of a client with only these permissions; operations with equal permissions share it. */
const tokenWith = (held: readonly Permission[]): Promise<string> =>
  tokenOnce(held.join(' '), async () => (await newClient(harness, partner.tenantId, held)).token);

const needed = ({ scopes }: ContractOperation): Permission[] => scopes.filter(isPermission);
const nameOf = ({ operationId }: ContractOperation): string => operationId;
/** Checks every operation that needs a token, four at a time. */
const everyOperation = (check: (operation: ContractOperation) => Promise<void>): Promise<void> =>
  everyCase(securedOperations, nameOf, check, 4);

it('every operation that needs a token accepts a valid one with any of its permissions, so the refusals in these tests are meaningful', () =>
  everyCase(securedOperations, nameOf, async (operation) => {
    for (const permission of needed(operation)) {
      const token = await tokenWith([permission]);
      expect(await sendWrong(operation, `Bearer ${token}`)).toMatchObject({ status: 400 });
    }
  }));

describe('every operation that needs a token', () => {
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
    const headers: { kind: string; header: Authorization; code: ProblemCode }[] = [];
    // Make the tokens one after the other, because one of their makers moves the clock.
    for (const [kind, make, code] of refused) headers.push({ kind, header: await make(), code });
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
  });

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
});

it('a GET operation without security ignores a missing, invalid or valid token', () => {
  const others = operations.filter(({ security, method }) => security.length === 0 && method === 'GET');
  return everyCase(others, nameOf, async (operation) => {
    for (const header of [undefined, 'Bearer garbage', `Bearer ${await newToken(harness, partner)}`]) {
      expect(await sendRight(operation, header)).toMatchObject({ status: 200 });
    }
  });
});
