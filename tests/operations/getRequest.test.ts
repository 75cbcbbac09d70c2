import { randomUUID } from 'node:crypto';
import { permissions } from '../../src/domain/access/permissions.js';
import { erasePatient } from '../../src/domain/sweeps/erase.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import {
  newClient,
  newClinic,
  newPartner,
  newPatient,
  newToken,
  patientBody,
  type Partner,
} from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';
import { reset } from '../support/sandbox.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();

const get = ({ token }: Pick<Partner, 'token'>, { headers }: Answer): Promise<Answer> =>
  call(harness, `GET /sandbox/requests/${headers.get('X-Request-Id')}`, { token });

const countOf = ({ tenantId }: Partner): Promise<number> =>
  harness.domain.db.prisma.sandboxExchange.count({ where: { tenantId } });

describe('getRequest 200', () => {
  it('shows path, query and bodies as sent, also of a refused request', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const sent = patientBody({ email: 'found@example.com' });
    const created = await call(harness, 'POST /clients', { ...partner, json: sent });
    const found = await call(harness, 'GET /clients?email=found%40example.com', partner);
    const refused = await call(harness, 'POST /clients', { ...partner, json: { firstName: 'Ann' } });
    const common = { clientId: partner.clientId, at: harness.clock.now.toISOString() };
    const create = { ...common, method: 'POST', path: '/clients', operationId: 'createPatient' };
    expect((await get(partner, created)).body).toEqual({
      request: { ...create, status: 201, code: null, requestId: created.headers.get('X-Request-Id') },
      ...{ target: '/clients', requestBody: JSON.stringify(sent), responseBody: created.text },
    });
    expect((await get(partner, found)).body).toMatchObject({
      ...{ target: '/clients?email=found%40example.com', requestBody: null, responseBody: found.text },
    });
    expect((await get(partner, refused)).body).toMatchObject({
      request: { ...create, status: 400, code: 'validation_failed' },
      ...{ target: '/clients', requestBody: '{"firstName":"Ann"}', responseBody: refused.text },
    });
  });

  it('shows the latest of several requests with one id', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const headers = { 'X-Request-Id': randomUUID() };
    const answers = [];
    for (const path of ['/clinics', '/tenants/products'])
      answers.push(await call(harness, `GET ${path}`, { ...partner, headers }));
    expect((await get(partner, answers[0] as Answer)).body).toMatchObject({ request: { operationId: 'listProducts' } });
  });

  it('cuts bodies after 8,192 characters, and shows neither webhook secrets nor certificates', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const notes = 'x'.repeat(9_000);
    const long = await call(harness, 'POST /clients', { ...partner, json: patientBody({ notes }) });
    const { requestBody } = (await get(partner, long)).body;
    expect([requestBody.length, requestBody]).toEqual([8_192, expect.stringMatching(/^\{.*x$/)]);
    // One of these is cut between the halves of a character.
    for (const start of ['', 'x']) {
      const halves = await call(harness, 'POST /clients', {
        ...partner,
        json: patientBody({ notes: start + '😀'.repeat(4_400) }),
      });
      expect((await get(partner, halves)).body.requestBody).toHaveLength(8_192);
    }
    const { id, secret } = await newEndpoint(harness, partner);
    const rotated = await call(harness, `POST /webhook-endpoints/${id}/rotate-secret`, partner);
    const shown = await get(partner, rotated);
    expect(shown.body.responseBody).toMatch(/"secret":"\[removed\]"/);
    for (const hidden of [secret, rotated.body.secret]) expect(shown.text).not.toContain(hidden);
    const { encounter_id } = await completedEncounter(harness, partner);
    const certificate = await call(harness, `GET /encounters/${encounter_id}/certificate`, partner);
    expect(certificate.status).toBe(200);
    expect((await get(partner, certificate)).body).toMatchObject({ request: { status: 200 }, responseBody: null });
  });

  it('shows a client limited to clinics only its own requests', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const limited = await newClient(harness, partner.tenantId, permissions, [await newClinic(harness, partner)]);
    const [own, other] = [await call(harness, 'GET /clinics', limited), await call(harness, 'GET /clinics', partner)];
    expect((await get(limited, own)).status).toBe(200);
    expectProblem(await get(limited, other), 404, 'request_not_found');
    expect((await get(partner, own)).status).toBe(200);
  });
});

describe('getRequest 404', () => {
  it('forgets a request after an hour', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const asked = await call(harness, 'GET /clinics', partner);
    harness.clock.advance(3_600);
    expect((await get(partner, asked)).status).toBe(200);
    harness.clock.advance(1);
    expectProblem(await get(partner, asked), 404, 'request_not_found');
  });

  it('keeps no token request and none of the workbench, and answers a request that cannot be kept', async () => {
    const partner = await newPartner(harness, 'sandbox');
    await newToken(harness, partner);
    const headers = { 'X-Request-Id': `facade00${randomUUID().slice(8)}` };
    expect((await call(harness, 'GET /clinics', { ...partner, headers })).status).toBe(200);
    const ask = (): Promise<Answer> => call(harness, 'GET /clinics', partner);
    expect((await withoutTable(harness, 'sandbox_exchange', ask)).status).toBe(200);
    expect(await countOf(partner)).toBe(0);
  });

  it('never keeps a request of a live tenant', async () => {
    const live = await newPartner(harness);
    await call(harness, 'POST /clients', { ...live, json: patientBody() });
    await call(harness, 'POST /clients', { ...live, json: {} });
    expect(await countOf(live)).toBe(0);
  });

  it('forgets all requests after the erasure of a patient, and after a reset', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const patientId = await newPatient(harness, partner);
    expect(await countOf(partner)).toBeGreaterThan(0);
    const { domain } = harness;
    await inTransaction(domain, (transaction) => erasePatient(transaction, partner.tenantId, patientId));
    expect(await countOf(partner)).toBe(0);
    const created = await call(harness, 'POST /clients', { ...partner, json: patientBody() });
    expect((await reset(harness, partner)).status).toBe(204);
    expectProblem(await get(partner, created), 404, 'request_not_found');
  });
});
