import { isDeepStrictEqual } from 'node:util';
import { resetCast, seedRestorableCast } from '../support/cast.js';
import { exampleBody, operations, requiredHeaders, targetOf, type ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { newSandbox, thingsOf } from '../support/sandbox.js';

// Sandboxes share the ids of their fixtures: a statement without its tenant would change the fixtures of all.

const harness = await openHarness();
const partner = await seedRestorableCast(harness);
const other = await newSandbox(harness);

const changing = operations.filter(({ method, security }) => method !== 'GET' && security.length > 0);
const requests = changing.map((operation) => ({
  operation,
  json: operation.requestBody && exampleBody(operation),
}));

/** Two operations only read, and a second reset leaves the same state. */
const hasEffect = ({ operationId }: ContractOperation): boolean =>
  !['previewEncounter', 'getEncounterStatus', 'resetSandbox'].includes(operationId);

it('a request changes its own sandbox unless it only reads, and no other one, although the fixtures have the same ids', () => {
  const titleOf = ({ operation }: (typeof requests)[number]): string => operation.operationId;
  return everyCase(requests, titleOf, async ({ operation, json }) => {
    await resetCast(harness, partner);
    const before = await thingsOf(harness, other.tenantId);
    const own = await thingsOf(harness, partner.tenantId);
    const headers = requiredHeaders(operation);
    const asked = { token: partner.token, headers, ...(json ? { json } : {}) };
    const { status } = await call(harness, targetOf(operation), asked);
    expect(status).toBeLessThan(300);
    const isUnchanged = isDeepStrictEqual(await thingsOf(harness, partner.tenantId), own);
    expect(isUnchanged).toBe(!hasEffect(operation));
    expect(await thingsOf(harness, other.tenantId)).toEqual(before);
  });
}, 60_000);
