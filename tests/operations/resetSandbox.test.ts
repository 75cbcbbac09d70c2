import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importCatalog } from '../../src/domain/catalog/import/importCatalog.js';
import { resetTables } from '../../src/domain/sandbox/reset.js';
import { cast } from '../support/cast.js';
import { exampleBody, operationOf } from '../support/contract.js';
import { sendQuery } from '../support/exampleRequests.js';
import { feedPage } from '../support/events.js';
import { newClient, newPatient, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import { newEndpoint, receiveExample } from '../support/webhooks.js';
import { newSandbox, reset, setClock, simulate, thingsOf } from '../support/sandbox.js';

const harness = await openHarness();
const partner = await newSandbox(harness);
const other = await newSandbox(harness);
beforeEach(async () => {
  expect((await reset(harness, partner)).status).toBe(204);
});

const things = ({ tenantId }: Partner = partner) => thingsOf(harness, tenantId);
const send = (target: string, json?: unknown, { token }: Partner = partner): Promise<Answer> =>
  call(harness, target, { token, ...(json === undefined ? {} : { json }) });
const sendWithKey = (target: string, json: unknown, key: string): Promise<Answer> =>
  call(harness, target, { token: partner.token, json, headers: { 'Idempotency-Key': key } });
const { scheduled, waiting, claimed, asked, completed, paid } = cast.encounters;

/** Adds or changes rows in most tables; returns the path of an uploaded file. */
async function play(): Promise<string> {
  const { tenantId } = partner;
  const patientId = await newPatient(harness, partner);
  const target = `POST /clients-documents/${patientId}/upload-url/id-card`;
  const upload = await send(target, { url: 'https://files.northwind.example/id.png' });
  await simulate(harness, partner, waiting.encounter_id, { outcome: 'approve_all', pay: true });
  const body = { clinicId: cast.clinics.austin, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  const again = { ...body, patientId: cast.jane.id, treatmentIds: [cast.products.botox] };
  expect((await sendWithKey('POST /encounters', again, 'again')).status).toBe(201);
  const documentIds = [upload.body.documentId];
  await send('POST /encounters', { ...again, patientId, treatmentIds: [cast.products.semaglutide], documentIds });
  const refund = exampleBody(operationOf('refundPayment'));
  await sendWithKey(`POST /orders/${paid.order_no}/refunds`, refund, 'refund');
  await simulate(harness, partner, claimed.encounter_id, { outcome: 'deny_all' });
  await send(`POST /encounters/${waiting.encounter_id}/addenda`, { reviewerRef: 'sandbox', text: 'Seen.' });
  await send(`POST /encounters/${asked.encounter_id}/information`, { additionalNotes: 'None.' });
  await send(`POST /webhook-endpoints/${cast.webhook}/replay`, { after: '2026-01-01T00:00:00Z' });
  await send('PUT /sandbox/webhook-inbox/behavior', { status: 500 });
  await receiveExample(harness, partner);
  expect((await setClock(harness, partner, 50 * 24 * 3600)).status).toBe(200);
  await harness.domain.db.prisma.clinic.updateMany({ where: { tenantId }, data: { isActive: false } });
  await harness.domain.db.prisma.productOffer.updateMany({ where: { tenantId }, data: { price: '1.00' } });
  return join(harness.dataDir, 'documents', upload.body.userDocument.blobPath);
}

const fixtureFile = async ({ tenantId }: Partner = partner): Promise<string> => {
  const where = { tenantId_id: { tenantId, id: cast.documents.janeIntake } };
  const { blobPath } = await harness.domain.db.prisma.document.findUniqueOrThrow({ where });
  return join(harness.dataDir, 'documents', blobPath);
};

describe('resetSandbox 204', () => {
  it('restores the fixtures in every table that has some, and leaves other sandboxes unchanged', async () => {
    const [before, beforeOther] = [await things(), await things(other)];
    await play();
    const catalog = await readFile(new URL('../../prisma/demo/harbor.json', import.meta.url), 'utf8');
    await importCatalog(harness.domain, partner.tenantId, catalog);
    const played = await things();
    const compared = resetTables.filter((table) => table in played);
    for (const table of compared) expect([table, played[table]]).not.toEqual([table, before[table]]);
    const { status, text, headers } = await reset(harness, partner);
    expect([status, text, headers.get('Content-Type')]).toEqual([204, '', null]);
    expect(await things()).toEqual(before);
    expect(await things(other)).toEqual(beforeOther);
  });

  it('resets every table with a tenant_id except a list of tables that it keeps', async () => {
    const columns = await harness.domain.db.prisma.$queryRaw<{ table_name: string }[]>`
      SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id'`;
    const access = ['api_client', 'api_client_secret', 'audit_event', 'audit_seal', 'audit_counter', 'event_counter'];
    const kept = [...access, 'provider', 'provider_license', 'webhook_cursor', 'webhook_endpoint'];
    expect(columns.map((column) => column.table_name).sort()).toEqual([...resetTables, ...kept].sort());
  });

  it('gives a reset and a new sandbox equal fixtures', async () => {
    const nameless = (rows: Record<string, unknown[]>): unknown => {
      const text = JSON.stringify(resetTables.map((table) => rows[table])).replaceAll(/sandbox-\d+/g, 'sandbox');
      // The API client of the fixtures differs between tenants.
      const ofClient = /^((uploaded|claimed|reviewed)_by_id|(created_by_)?api_client_id)$/;
      return JSON.parse(text, (name, value) => (ofClient.test(name) ? null : value));
    };
    expect(nameless(await things())).toEqual(nameless(await things(await newSandbox(harness))));
  });

  it('keeps webhook endpoints, and restores the endpoint of the examples', async () => {
    const { id, secret: _secret, ...own } = await newEndpoint(harness, partner);
    const before = (await send(`GET /webhook-endpoints/${cast.webhook}`)).body;
    expect((await send(`DELETE /webhook-endpoints/${cast.webhook}`)).status).toBe(204);
    await reset(harness, partner);
    expect((await send('GET /webhook-endpoints')).body.data).toEqual([before, { id, ...own }]);
    await send(`DELETE /webhook-endpoints/${id}`);
  });

  it('keeps the settings, the API clients and their tokens', async () => {
    const { tenantId } = partner;
    const { token } = await newClient(harness, tenantId, ['read:encounter'], [cast.clinics.austin]);
    const { tenant: tenants } = harness.domain.db.prisma;
    const where = { id: tenantId };
    // The fixtures have an unknown provider and younger patients.
    const strict = { currency: 'CAD', requireLicensedProvider: true, minimumAge: 90 };
    await tenants.updateMany({ where, data: strict });
    expect((await reset(harness, partner)).status).toBe(204);
    expect(await tenants.findUnique({ where })).toMatchObject(strict);
    expect((await send(`GET /orders/${completed.order_no}`)).body.currency).toBe('CAD');
    const { body } = await send(`GET /encounters/${waiting.encounter_id}`, undefined, { ...partner, token });
    expect(body.status).toBe('pending_review');
    const defaults = { currency: 'USD', requireLicensedProvider: false, minimumAge: 0 };
    await tenants.updateMany({ where, data: defaults });
  });

  it('removes the files of removed documents, and restores the file of the fixtures', async () => {
    const path = await play();
    expect(existsSync(path)).toBe(true);
    await rm(await fixtureFile());
    await reset(harness, partner);
    expect(existsSync(path)).toBe(false);
    expect((await readFile(await fixtureFile())).toString()).toMatch(/^%PDF-1\.4\n[^]*%%EOF$/);
    expect(existsSync(await fixtureFile(other))).toBe(true);
    const ofJane = join(harness.dataDir, 'documents', partner.tenantId, 'clients', cast.jane.id);
    expect(await readdir(ofJane)).toEqual(['intake-forms']);
  });

  it('succeeds while the store cannot remove files', async () => {
    const path = await play();
    const { objects } = harness.services;
    Object.assign(harness.services, { objects: { ...objects, remove: () => Promise.reject(new Error('read-only')) } });
    expect((await reset(harness, partner)).status).toBe(204);
    Object.assign(harness.services, { objects });
    expect(existsSync(path)).toBe(true);
    const { tenantId } = partner;
    expect(await harness.domain.db.prisma.document.count({ where: { tenantId } })).toBe(1);
  });

  it('places the fixtures relative to the current time: a visit ahead, a claim held, an order six days old', async () => {
    const { now } = harness.clock;
    harness.clock.now = new Date('2031-03-08T09:00:00.000Z');
    const { token } = await newClient(harness, partner.tenantId);
    const later = { ...partner, token };
    const get = (path: string) => send(`GET ${path}`, undefined, later);
    expect((await reset(harness, later)).status).toBe(204);
    const visit = (await get(`/encounters/${scheduled.encounter_id}`)).body;
    expect(visit).toMatchObject({ scheduledDay: '2031-03-19', scheduledAt: '2031-03-19T19:30:00.000Z' });
    expectProblem(await simulate(harness, later, scheduled.encounter_id, { outcome: 'claim' }), 409, 'not_due');
    const review = (await get(`/encounters/${claimed.encounter_id}`)).body;
    expect(review).toMatchObject({ status: 'in_review', leaseExpiresAt: '2031-03-08T13:00:00.000Z' });
    const order = (await get(`/orders/${completed.order_no}`)).body;
    expect(order).toMatchObject({ order_status: 'pending', createdAt: '2031-03-02T09:00:00.000Z' });
    const { gfe_data } = (await get(`/encounters/${completed.encounter_id}`)).body;
    const [year, month] = ['2032-03-02T09:00:00.000Z', '2031-04-02T09:00:00.000Z'];
    expect(gfe_data).toMatchObject([{ validUntil: year }, { validUntil: month }]);
    harness.clock.now = now;
  });

  it('gives a new sandbox, years after the examples, records that the example filters of lists find', async () => {
    const { now } = harness.clock;
    harness.clock.now = new Date('2031-03-01T12:00:00Z');
    const later = await newSandbox(harness);
    for (const list of [
      ...['listClinics', 'listProducts', 'findPatients', 'listPatientDocuments', 'listStates', 'listEncounters'],
      ...['listRenewals', 'listOrders', 'listReviewQueue'],
    ]) {
      const { body } = await sendQuery(harness, later, operationOf(list), { cursor: undefined });
      expect([list, body.data?.length > 0]).toEqual([list, true]);
    }
    harness.clock.now = now;
  });

  it('keeps cursors at the end of the feed valid, and makes earlier ones cursor_invalid', async () => {
    const early = await feedPage(harness, partner, { limit: 1 });
    const { next_cursor: cursor } = await feedPage(harness, partner, { limit: 100 });
    await reset(harness, partner);
    expect(await feedPage(harness, partner, { cursor })).toEqual(await feedPage(harness, partner));
    const refused = await send(`GET /events?cursor=${early.next_cursor}`);
    expectProblem(refused, 400, 'cursor_invalid');
  });

  it('records the events of the fixtures with new ids', async () => {
    const read = () => harness.domain.db.prisma.event.findMany({ where: { tenantId: partner.tenantId } });
    const before = await read();
    await reset(harness, partner);
    const after = await read();
    expect(after.map(({ type }) => type).sort()).toEqual(before.map(({ type }) => type).sort());
    expect(new Set([...before, ...after].map(({ id }) => id)).size).toBe(before.length * 2);
  });
});

describe('resetSandbox 500', () => {
  it('changes no row when the fixtures cannot be restored', async () => {
    await play();
    const before = await things();
    expectProblem(await withoutTable(harness, 'order_line', () => reset(harness, partner)), 500, 'internal_error');
    expect(await things()).toEqual(before);
  });
});
