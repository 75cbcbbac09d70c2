import { isDeepStrictEqual } from 'node:util';
import { resetCast, seedRestorableCast } from '../support/cast.js';
import { operations, type ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { exampleRequests } from '../support/exampleRequests.js';
import { openHarness } from '../support/harness.js';
import { newSandbox, thingsOf } from '../support/sandbox.js';

// Sandboxes share the ids of their fixtures: a statement without its tenant would change the fixtures of all.

const harness = await openHarness();
const partner = await seedRestorableCast(harness);
const other = await newSandbox(harness);

const requests = exampleRequests(operations.filter(({ method, security }) => method !== 'GET' && security.length > 0));

/** Two operations only read, and a second reset leaves the same state. */
const hasEffect = ({ operationId }: ContractOperation): boolean =>
  !['previewEncounter', 'getEncounterStatus', 'resetSandbox'].includes(operationId);

it('a request changes no sandbox but its own, although the fixtures of all have the same ids', () => {
  const titleOf = ({ title }: (typeof requests)[number]): string => title;
  return everyCase(requests, titleOf, async ({ operation, send }) => {
    await resetCast(harness, partner);
    const before = await thingsOf(harness, other.tenantId);
    const own = await thingsOf(harness, partner.tenantId);
    const { status } = await send(harness, partner);
    expect(status).toBeLessThan(300);
    const isUnchanged = isDeepStrictEqual(await thingsOf(harness, partner.tenantId), own);
    expect(isUnchanged).toBe(!hasEffect(operation));
    expect(await thingsOf(harness, other.tenantId)).toEqual(before);
  });
});
