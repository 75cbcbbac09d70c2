import type { Permission } from '../../src/contract.js';
import { watchAudit } from '../support/auditWatch.js';
import { cast, resetCast, seedRestorableCast } from '../support/cast.js';
import { exampleBody, operationOf, operations, targetOf, type ContractOperation } from '../support/contract.js';
import { encounterBody, newClient, newClinic, newPartner, newToken, patientBody } from '../support/factories.js';
import { everyCase } from '../support/everyCase.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem, tokenWithout } from '../support/refusals.js';
import { thingsOf } from '../support/sandbox.js';

const harness = await openHarness();
const partner = await seedRestorableCast(harness);
const audit = await watchAudit(harness);
beforeEach(() => resetCast(harness, partner));

const keyed = operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'));

/** A request to send. */
interface Asked {
  readonly target: string;
  readonly json: object;
}

/** The example of an operation, which succeeds once after each reset. */
const rightOf = (operation: ContractOperation): Asked => ({
  target: targetOf(operation),
  json: operation.requestBody ? exampleBody(operation) : {},
});

const unknown = {
  ...{ id: cast.absent, documentId: cast.absent, endpoint_id: cast.absent, delivery_id: cast.absent },
  ...{ encounter_id: 999_999_999, order_no: 'ORD-999999999' },
};
/** By operation whose path names no record: a member of the body with which it fails. */
const failures: Readonly<Record<string, object>> = {
  createPatient: { email: cast.jane.email },
  createEncounter: { patientId: cast.absent },
  createWebhookEndpoint: { url: 'https://127.0.0.1/hook' },
};

/** A request that fails: about an unknown record, if the path names one. */
function failingOf(operation: ContractOperation): Asked {
  const { target, json } = rightOf(operation);
  const named = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  if (named.length === 0) return { target, json: { ...json, ...failures[operation.operationId] } };
  const changes = Object.entries(unknown).filter(([name]) => named.includes(name));
  return { target: targetOf(operation, Object.fromEntries(changes)), json };
}

/** By operation with a body: members that make it another valid body. */
const otherMembers: Readonly<Record<string, object>> = {
  createPatient: { firstName: 'June' },
  updatePatient: { address: '1 Main Street' },
  uploadPatientDocument: { fileName: 'other.pdf' },
  withdrawDocument: { reason: 'illegible' },
  createEncounter: { reviewType: 'asynchronous' },
  updateEncounter: { reference: 'APPT-2' },
  cancelEncounter: { reason: 'duplicate' },
  rescheduleEncounter: { scheduledTime: '10:00:00' },
  provideInformation: { additionalNotes: 'None.' },
  recordPayment: { amount: '1.00' },
  cancelOrder: { reason: 'Error.' },
  refundPayment: { amount: '1.00' },
  recordFulfilment: { status: 'exception', reason: 'Stock.' },
  createWebhookEndpoint: { description: 'All' },
  updateWebhookEndpoint: { description: 'All' },
  replayWebhookEvents: { after: '2026-11-13T00:00:00Z' },
  simulateEncounter: { outcome: 'deny_all', pay: undefined },
  simulateVerification: { status: 'VERIFIED' },
  claimEncounter: { leaseSeconds: 600 },
  releaseEncounter: { reviewerRef: 'NPI-2' },
  requestInformation: { message: 'Which dose?' },
  submitReview: { notes: 'None.' },
  addAddendum: { text: 'Not seen.' },
  reorderTreatments: { treatmentIds: [cast.products.botox] },
  revokeApprovals: { reason: 'Error.' },
};

let count = 0;
const newKey = (): string => `key ${(count += 1)}`;

const send = ({ target, json }: Asked, key: string | undefined, { token } = partner): Promise<Answer> =>
  call(harness, target, { token, json, ...(key === undefined ? {} : { headers: { 'Idempotency-Key': key } }) });
const isReplayed = ({ headers }: Answer): boolean => headers.get('Idempotent-Replayed') === 'true';
/** Everything of the tenant that a repeated effect would change. */
async function state(): Promise<object> {
  const { idempotency_key: _keys, ...things } = await thingsOf(harness, partner.tenantId);
  return things;
}
const storedKeys = (): Promise<number> =>
  harness.domain.db.prisma.idempotencyKey.count({ where: { tenantId: partner.tenantId } });
const successOf = ({ statuses }: ContractOperation): number => statuses.find((status) => status < 300) ?? 0;

/** Does the work, which must not have an effect. */
async function withoutEffect(work: () => Promise<unknown>): Promise<void> {
  const before = await state();
  await work();
  expect(await state()).toEqual(before);
}

function expectInvalidKey(answer: Answer): void {
  expectProblem(answer, 400, 'idempotency_key_invalid', [{ parameter: 'idempotency-key' }]);
}

it('every operation that takes a key does its work once: it refuses, replays and stores as the guide says', () =>
  everyCase(
    keyed,
    ({ operationId }) => operationId,
    async (operation) => {
      const { scopes, requestBody, operationId } = operation;
      await resetCast(harness, partner);
      const [right, failing] = [rightOf(operation), failingOf(operation)];
      const key = newKey();
      await withoutEffect(async () => {
        for (const wrong of ['', 'k'.repeat(256), 'k'.repeat(300)]) expectInvalidKey(await send(right, wrong));
      });
      // A failure is not stored, so the key stays free.
      const before = await storedKeys();
      expect((await send(failing, key)).status).toBeGreaterThanOrEqual(400);
      expect(await storedKeys()).toBe(before);
      const first = await send(right, key);
      expect([first.status, isReplayed(first), await storedKeys()]).toEqual([successOf(operation), false, before + 1]);
      const { target, json } = right;
      const { secret, ...others } = first.body;
      const shown = secret ? { ...others, secretNotice: expect.stringMatching(/does not show the secret/) } : others;
      await withoutEffect(async () => {
        // Quotation marks around the key and the order of members make no difference.
        const reordered = { target, json: Object.fromEntries(Object.entries(json).toReversed()) };
        for (const retry of [await send(right, key), await send(reordered, `"${key}"`)]) {
          expect([retry.status, isReplayed(retry)]).toEqual([first.status, true]);
          expect(retry.body).toEqual(shown);
          for (const name of ['Location', 'Cache-Control'])
            expect(retry.headers.get(name)).toBe(first.headers.get(name));
          expect(retry.headers.get('X-Request-Id')).not.toBe(first.headers.get('X-Request-Id'));
        }
        // Another body, or another path.
        const changed = requestBody ? [{ target, json: { ...json, ...otherMembers[operationId] } }] : [];
        const moved = failing.target === target ? [] : [{ target: failing.target, json }];
        for (const one of [...changed, ...moved]) expectProblem(await send(one, key), 400, 'idempotency_key_reused');
      });
      // 401, 403 and 400 come before the key.
      const malformed = requestBody ? target : `${target}?nonsense=1`;
      expectProblem(await send({ target: malformed, json: { nonsense: 1 } }, key), 400, 'validation_failed');
      const asked = { json: {}, headers: { 'Idempotency-Key': key } };
      if (scopes.length === 1) {
        const token = await tokenWithout(harness, partner, scopes[0] as Permission);
        expectProblem(await call(harness, target, { token, ...asked }), 403, 'insufficient_permission');
      }
      expectProblem(await call(harness, target, asked), 401, 'token_missing');
      // Another client's keys are separate.
      for (const owner of [await newClient(harness, partner.tenantId), await newPartner(harness)]) {
        const answer = await send(right, key, owner);
        expect(isReplayed(answer)).toBe(false);
        expect(answer.body?.code).not.toBe('idempotency_key_reused');
      }
    },
  ));

it('the secret of a webhook endpoint is only in the first response to a key, not in the stored response', () =>
  everyCase(['createWebhookEndpoint', 'rotateWebhookSecret'], String, async (operationId) => {
    const key = newKey();
    const { body } = await send(rightOf(operationOf(operationId)), key);
    expect(body.secret).toMatch(/^whsec_/);
    const where = { tenantId: partner.tenantId, operationId, key };
    const [stored, ...others] = await harness.domain.db.prisma.idempotencyKey.findMany({ where });
    expect([others, stored?.answer]).toEqual([[], expect.objectContaining({ status: expect.any(Number) })]);
    expect(JSON.stringify(stored)).not.toMatch(/secret"|whsec_/);
    expect(JSON.stringify(stored)).not.toContain(String(body.secret).slice('whsec_'.length, -1));
  }));

describe('an idempotency key', () => {
  const patient = (): Asked => ({ target: 'POST /clients', json: patientBody() });

  it('may be any printable ASCII text of 1 to 255 characters, and is case-sensitive', () => {
    const keys = ['k', 'K', '"', 'a"b', '"a', "' OR 1=1 --", '~!@#$%^&*() ', 'k'.repeat(255), `"${'q'.repeat(255)}"`];
    return everyCase(keys, String, async (key) => {
      const asked = patient();
      expect((await send(asked, key)).status).toBe(201);
      expect(isReplayed(await send(asked, key))).toBe(true);
    });
  });

  it('is stored for one operation, so another operation may use the same key', async () => {
    const key = newKey();
    for (const operationId of ['createPatient', 'createEncounter', 'recordPayment']) {
      const answer = await send(rightOf(operationOf(operationId)), key);
      expect([answer.status < 300, isReplayed(answer)]).toEqual([true, false]);
    }
  });

  it('is ignored by previewEncounter, which takes none', async () => {
    const json = await encounterBody(harness, partner);
    const key = newKey();
    for (const other of [json, { ...json, reviewType: 'synchronous' }]) {
      const answer = await send({ target: 'POST /encounters/preview', json: other }, key);
      expect([answer.status, isReplayed(answer)]).toEqual([200, false]);
    }
  });

  it('replays the first answer even if the request would fail after a later change', async () => {
    const asked = { target: 'POST /encounters', json: await encounterBody(harness, partner) };
    const key = newKey();
    const first = await send(asked, key);
    await harness.domain.db.prisma.clinic.updateMany({
      where: { tenantId: partner.tenantId, id: first.body.clinicId },
      data: { isActive: false },
    });
    expectProblem(await send(asked, undefined), 409, 'clinic_inactive');
    expect((await send(asked, key)).body).toEqual(first.body);
    const other = { ...asked, json: { ...asked.json, patientId: cast.absent } };
    expectProblem(await send(other, key), 400, 'idempotency_key_reused');
  });

  it('does not replay a response about a clinic that the client may no longer see', async () => {
    const client = await newClient(harness, partner.tenantId);
    const asked = { target: 'POST /encounters', json: await encounterBody(harness, partner) };
    const key = newKey();
    expect((await send(asked, key, client)).status).toBe(201);
    const { tenantId, clientId } = client;
    await harness.domain.db.prisma.apiClient.updateMany({
      where: { tenantId, clientId },
      data: { allowedClinicIds: [await newClinic(harness, partner)] },
    });
    // For up to 30 seconds, servers may use the cached state of the client.
    harness.clock.advance(60);
    expectProblem(await send(asked, key, client), 403, 'insufficient_permission');
  });

  it('replays the answer to an If-Match that has become outdated, and cannot be used again with another one', async () => {
    const { user_id: id } = (await send(patient(), undefined)).body;
    const change = (version: string) =>
      call(harness, `PATCH /clients/${id}`, {
        ...{ token: partner.token, json: { notes: 'x' } },
        headers: { 'Idempotency-Key': 'patched', 'If-Match': version },
      });
    const { headers } = await call(harness, `GET /clients/${id}`, { token: partner.token });
    // The second time, the version is no longer the current one.
    for (const _ of [1, 2]) expect((await change(headers.get('ETag') ?? '')).status).toBe(200);
    expectProblem(await change('*'), 400, 'idempotency_key_reused');
  });

  it('is kept for 24 hours of real time, not of tenant time, and is then free', async () => {
    const asked = { target: 'POST /encounters', json: await encounterBody(harness, partner) };
    const key = newKey();
    const first = await send(asked, key);
    const turnBack = (time: string) => harness.domain.db.prisma.$executeRaw`
      UPDATE idempotency_key SET created_at = now() - ${time}::interval
      WHERE tenant_id = ${partner.tenantId} AND key = ${key}`;
    await turnBack('23 hours 59 minutes');
    expect((await send(asked, key)).body).toEqual(first.body);
    await turnBack('24 hours 1 second');
    const changed = { ...asked, json: { ...asked.json, reviewType: 'synchronous' } };
    const second = await send(changed, key);
    expect([second.status, isReplayed(second)]).toEqual([201, false]);
    expect(second.body.id).not.toBe(first.body.id);
    harness.clock.advance(7 * 24 * 3600);
    const later = await send(changed, key, { ...partner, token: await newToken(harness, partner) });
    harness.clock.advance(-7 * 24 * 3600);
    expect([later.body, isReplayed(later)]).toEqual([second.body, true]);
  });

  it('does not appear in the log, nor does the answer', async () => {
    const key = `secret-${newKey()}`;
    const operation = operationOf('createPatient');
    const right = rightOf(operation);
    for (const asked of [failingOf(operation), right, right]) await send(asked, key);
    const log = JSON.stringify(harness.logged);
    for (const secret of [key, 'López', cast.maria.email]) expect(log).not.toContain(secret);
  });
});

it('each keyed request of a known client, even replayed, writes one audit row before its response', () =>
  audit.expectOneRowEach());
