import type { Permission } from '../../src/contract.js';
import { watchAudit } from '../support/auditWatch.js';
import { operations, type ContractOperation } from '../support/contract.js';
import { encounterBody, newClient, newClinic, newPartner, newToken, patientBody } from '../support/factories.js';
import type { Partner } from '../support/factories.js';
import { everyCase } from '../support/everyCase.js';
import { openHarnessWithHost } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { keyedRequests, type Asked, type KeyedRequests } from '../support/keyedRequests.js';
import { expectProblem, tokenWithout } from '../support/refusals.js';
import { thingsOf } from '../support/sandbox.js';

const unknownId = '01a10caf-a4c0-7000-8000-00000000dead';

let partner: Partner;
const { harness, host: fileHost } = await openHarnessWithHost();
const audit = await watchAudit(harness);
// Tests compare all records of the tenant, so each has its own.
beforeEach(async () => {
  partner = await newPartner(harness, 'sandbox');
});

const keyed = operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'));

function requestsOf(operationId: string): Promise<KeyedRequests> {
  const make = keyedRequests[operationId];
  if (!make) throw new Error(`no requests for ${operationId}`);
  return make({ harness, fileHost, partner });
}

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

it('the table keyedRequests of these tests covers exactly the operations that accept an Idempotency-Key', () => {
  expect(keyed.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(keyedRequests).sort());
});

it('every operation that takes a key does its work once: it refuses, replays and stores as the guide says', () =>
  everyCase(
    keyed,
    ({ operationId }) => operationId,
    async (operation) => {
      const { scopes, requestBody, operationId } = operation;
      partner = await newPartner(harness, 'sandbox');
      const { right, failing, other } = await requestsOf(operationId);
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
        const moved = failing.target === target ? [] : [{ ...right, target: failing.target }];
        for (const one of [other, ...moved]) expectProblem(await send(one, key), 400, 'idempotency_key_reused');
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
    const { right } = await requestsOf(operationId);
    const { body } = await send(right, key);
    expect(body.secret).toMatch(/^whsec_/);
    const where = { tenantId: partner.tenantId, operationId, key };
    const [stored, ...others] = await harness.domain.db.prisma.idempotencyKey.findMany({ where });
    expect([others, stored?.answer]).toEqual([[], expect.objectContaining({ status: expect.any(Number) })]);
    expect(JSON.stringify(stored)).not.toMatch(/secret"|whsec_/);
    expect(JSON.stringify(stored)).not.toContain(String(body.secret).slice('whsec_'.length, -1));
  }));

describe('an idempotency key', () => {
  const patient = (): Asked => ({ target: 'POST /clients', json: patientBody() });

  it('may be any printable ASCII text of 1 to 255 characters', () => {
    const keys = ['k', '"', 'a"b', '"a', "' OR 1=1 --", '~!@#$%^&*() ', 'k'.repeat(255), `"${'q'.repeat(255)}"`];
    return everyCase(keys, String, async (key) => {
      const asked = patient();
      expect((await send(asked, key)).status).toBe(201);
      expect(isReplayed(await send(asked, key))).toBe(true);
    });
  });

  it('is refused when it is empty, too long or not printable ASCII', () =>
    everyCase(['""', `"${'k'.repeat(256)}"`, 'clé', 'a\tb', ' "" '], String, (key) =>
      withoutEffect(async () => expectInvalidKey(await send(patient(), key))),
    ));

  it('is case-sensitive', async () => {
    const asked = patient();
    const [lower, upper] = [newKey(), newKey().toUpperCase()];
    expect((await send(asked, lower)).status).toBe(201);
    expectProblem(await send(asked, upper), 409, 'patient_email_taken');
  });

  it('is stored for one operation, so another operation may use the same key', async () => {
    const key = newKey();
    for (const operationId of ['createPatient', 'createEncounter', 'recordPayment']) {
      const answer = await send((await requestsOf(operationId)).right, key);
      expect([answer.status < 300, isReplayed(answer)]).toEqual([true, false]);
    }
  });

  it('is refused for a second createEncounter that differs only in the clinic (scenario G)', async () => {
    const json = await encounterBody(harness, partner);
    const key = newKey();
    expect((await send({ target: 'POST /encounters', json }, key)).status).toBe(201);
    const elsewhere = { target: 'POST /encounters', json: { ...json, clinicId: await newClinic(harness, partner) } };
    await withoutEffect(async () => expectProblem(await send(elsewhere, key), 400, 'idempotency_key_reused'));
  });

  it('is required by the operations that record money', async () => {
    const { right } = await requestsOf('recordPayment');
    await withoutEffect(async () => {
      const fault = { parameter: 'idempotency-key', code: 'required' };
      expectProblem(await send(right, undefined), 400, 'idempotency_key_required', [fault]);
    });
  });

  it('is ignored by an operation that takes none', async () => {
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
    const other = { ...asked, json: { ...asked.json, patientId: unknownId } };
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
    // Until then, servers may use the state of the client that they know.
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
    const { right, failing } = await requestsOf('createPatient');
    for (const asked of [failing, right, right]) await send(asked, key);
    const log = JSON.stringify(harness.logged);
    for (const secret of [key, 'Miller', '1990-06-30']) expect(log).not.toContain(secret);
  });
});

it('each keyed request, even a replayed one, writes one audit row before its response', () => audit.expectOneRowEach());
