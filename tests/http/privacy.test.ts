import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createMetrics } from '../../src/adapters/metrics/createMetrics.js';
import { startTelemetry } from '../../src/telemetry.js';
import { operationOf, operations, type Schema } from '../support/contract.js';
import { encounterBody, newPartner, newPatient, patientBody, type Partner } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { logEverything } from '../support/postgresLog.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, jsonType, type Answer, type CallOptions } from '../support/http.js';
import * as marked from '../support/markedFaults.js';
import { openConnection } from '../support/rawHttp.js';
import { withoutDatabase, withoutTable } from '../support/refusals.js';
import { tellingAll, withSql } from '../support/sqlFaults.js';
import { asForm, basicAuth, loginBody } from '../support/tokens.js';

/** Part of the free texts that a caller sends. */
const MARK = 'zqx';
const [birthDate, phone] = ['1971-03-09', '9998887766'];

let database: TestDatabase;
let harness: Harness;
let databaseLog: string | undefined;
let partner: Partner;
let files: FileHost;
/** Must not occur in a log or a failure: the marks, and credentials as the flow gets them. */
const secrets = new Set([MARK, birthDate, phone]);
const failures: Answer[] = [];
const metrics = createMetrics();
let readDatabaseLog: Awaited<ReturnType<typeof logEverything>> = null;

beforeAll(async () => {
  startTelemetry({ metrics });
  files = await startFileHost();
  database = await createTestDatabase();
  readDatabaseLog = await logEverything(database.url);
  const environment = { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
  harness = await startHarness({ databaseUrl: database.url, environment });
  partner = await newPartner(harness);
  secrets.add(partner.clientSecret).add(partner.token).add(basicAuth(partner).slice(6));
});

afterAll(async () => {
  await Promise.all([harness.close(), files.close()]);
  await database.drop();
});

/** Sends a request of the partner with marks in its headers; keeps the answer if it is a failure. */
async function send(target: string, options: CallOptions = {}): Promise<Answer> {
  const marked = { 'User-Agent': `${MARK}-agent`, 'X-Request-Id': `${MARK}-id`, Cookie: `a=${MARK}-cookie` };
  const headers = { ...marked, ...options.headers };
  const answer = await call(harness, target, { token: partner.token, ...options, headers });
  if (answer.status >= 400) failures.push(answer);
  return answer;
}

/** A patient whose free texts hold a mark; the date of birth and the phone have unique values. */
function markedPatient(name: string): Record<string, unknown> {
  const { schema } = operationOf('createPatient').requestBody?.content['application/json'] ?? {};
  const isText = ({ type, format }: Schema) => [type].flat().includes('string') && format === undefined;
  const texts = Object.entries(schema?.properties ?? {}).filter(([, property]) => isText(property));
  return {
    ...Object.fromEntries(texts.map(([property]) => [property, `${MARK}-${property}`])),
    ...patientBody({ email: `${MARK}.${name}@example.com`, dateOfBirth: birthDate, phone }),
    firstName: `${MARK}-${name}`,
    lastName: `${MARK}-last`,
    gender: 'female',
    metadata: { [`${MARK}-key`]: `${MARK}-value` },
  };
}

const uploadTo = (patientId: string, json: object): Promise<Answer> =>
  send(`POST /clients-documents/${patientId}/upload-url/lab-results`, { json });

/** Sends a request that succeeds; returns its body. */
async function succeed(target: string, options: CallOptions = {}, expected = 200): Promise<Answer['body']> {
  const { status, body } = await send(target, options);
  expect([target, status]).toEqual([target, expected]);
  return body;
}

async function wholeFlow(): Promise<void> {
  const form = asForm({ grant_type: 'client_credentials' });
  const headers = { ...form.headers, Authorization: basicAuth(partner) };
  const tokens = [
    await succeed('POST /oauth/token', { json: loginBody(partner) }),
    await succeed('POST /oauth/token', { ...form, headers }),
  ];
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens[0].refresh_token };
  tokens.push(await succeed('POST /oauth/token', { json: loginBody(partner, renewal) }));
  for (const { access_token, refresh_token } of tokens) secrets.add(access_token).add(refresh_token);
  await succeed(`GET /clinics?search=${MARK}`);
  await succeed(`GET /tenants/products?search=${MARK}`);
  const { user_id: patientId } = await succeed('POST /clients', { json: markedPatient('flow') }, 201);
  expect((await send('POST /clients', { json: markedPatient('flow') })).status).toBe(409);
  expect((await succeed(`GET /clients?email=${MARK}.flow@example.com`)).data).toHaveLength(1);
  expect((await succeed(`GET /clients/${patientId}`)).firstName).toContain(MARK);
  const url = files.serve(`/${MARK}.pdf?signature=${MARK}`, { content: sampleFiles.pdf });
  const upload = await uploadTo(patientId, { url, fileName: `${MARK}.pdf` });
  expect(upload.status).toBe(200);
  const link = new URL(upload.body.fileUrl).pathname;
  secrets.add(link.split('/').at(-1) ?? '');
  await succeed(`GET ${link}`);
  const changes = { patientId, documentIds: [upload.body.documentId], additionalNotes: `${MARK}-notes` };
  const json = { ...(await encounterBody(harness, partner)), ...changes };
  const { encounter_id, gfe_no } = await succeed('POST /encounters', { json }, 201);
  expect((await succeed(`GET /encounters/${encounter_id}`)).additionalNotes).toContain(MARK);
  await succeed('POST /encounters/status', { json: { gfe_no } });
}

/** Invalid requests of many kinds, most with a mark at the fault. */
async function manyFaults(): Promise<void> {
  const patientId = await newPatient(harness, partner);
  for (const name of Object.keys(markedPatient('x'))) {
    for (const value of [`${MARK}\u0000`, { [`${MARK} name`]: MARK }, [MARK], `${MARK}${'x'.repeat(20_000)}`]) {
      await send('POST /clients', { json: { ...markedPatient('fault'), [name]: value } });
    }
  }
  for (const raw of marked.bodies(MARK)) {
    for (const target of ['POST /clients', 'POST /oauth/token']) await send(target, { raw, headers: jsonType });
  }
  await send('POST /clients', { raw: MARK.repeat(100_000), headers: jsonType });
  await send('POST /clients', { raw: MARK, headers: { 'Content-Type': `text/${MARK}` } });
  const ids = { clinicId: MARK, patientId: MARK, treatmentIds: [MARK], documentIds: [MARK] };
  await send('POST /encounters', { json: { ...ids, scheduledTimeZone: MARK, additionalNotes: 5 } });
  const schedule = { scheduledDay: '2027-01-01', scheduledTimeZone: `America/${MARK}` };
  await send('POST /encounters', { json: { ...(await encounterBody(harness, partner)), ...schedule } });
  await send('POST /encounters/status', { json: { gfe_no: MARK, order_no: 'ZQX-1' } });
  const fileName = `${MARK}.pdf`;
  for (const url of marked.documentUrls(MARK, files.host)) await uploadTo(patientId, { url, fileName });
  for (const target of marked.targets(MARK)) await send(target);
  for (const token of [MARK, `${MARK}.${MARK}.${MARK}`, `${partner.token}${MARK}`, undefined]) {
    await send('GET /clinics', { token });
  }
  await send('GET /clinics', { headers: { Authorization: `Basic ${MARK}` } });
  const logins = ['client_secret', 'client_id', 'grant_type', 'scope'].map((name) => ({ [name]: MARK }));
  for (const more of [...logins, { grant_type: 'refresh_token', refresh_token: MARK }]) {
    await send('POST /oauth/token', { json: loginBody(partner, more) });
  }
  const connection = await openConnection(harness);
  connection.socket.write(`${MARK} /${MARK} HTTP/1.1\r\nX-${MARK}: ${MARK}\r\n\r\n`);
  for (const { text } of await connection.closed()) expect(text).not.toContain(MARK);
}

/** Internal errors and database outages while marked requests are in progress. */
async function defects(): Promise<void> {
  const patientId = await newPatient(harness, partner);
  const url = files.serve(`/${MARK}.pdf`, { content: sampleFiles.pdf });
  const encounter = { ...(await encounterBody(harness, partner)), additionalNotes: `${MARK}-notes` };
  const steps: [string, () => Promise<Answer>][] = [
    ['client', () => send('POST /clients', { json: markedPatient('defect') })],
    ['document', () => uploadTo(patientId, { url, fileName: `${MARK}.pdf` })],
    ['encounter', () => send('POST /encounters', { json: encounter })],
  ];
  for (const [table, step] of steps) {
    const [add, drop] = ['ADD CONSTRAINT never CHECK (id IS NULL) NOT VALID', 'DROP CONSTRAINT never'];
    const alter = `ALTER TABLE "${table}"`;
    expect((await withSql(harness, `${alter} ${add}`, `${alter} ${drop}`, step)).status).toBe(500);
  }
  databaseLog = await readDatabaseLog?.();
  for (const [table, step] of steps) {
    for (const broken of [tellingAll, withoutTable]) expect((await broken(harness, table, step)).status).toBe(500);
    expect((await withoutDatabase(harness, step)).status).toBe(503);
  }
  const lookup = () => send(`GET /clients?email=${MARK}.flow@example.com`);
  expect((await withoutTable(harness, 'client', lookup)).status).toBe(500);
  expect((await withoutDatabase(harness, lookup)).status).toBe(503);
  const { link } = harness.services.objects;
  // A link that is not a URI makes the response break the contract.
  Object.assign(harness.services.objects, { link: async () => `${MARK} ${MARK}` });
  expect((await steps[1]?.[1]())?.status).toBe(500);
  Object.assign(harness.services.objects, { link });
}

/** The folder is on another device, so storing fails with EXDEV, an error that quotes paths. */
async function diskFault(): Promise<void> {
  const patientId = await newPatient(harness, partner);
  const folder = join(harness.dataDir, 'documents', partner.tenantId);
  const elsewhere = await mkdtemp('/dev/shm/ces-');
  await rm(folder, { recursive: true });
  await symlink(elsewhere, folder);
  const url = files.serve(`/${MARK}-disk.pdf`, { content: sampleFiles.pdf });
  expect((await uploadTo(patientId, { url })).status).toBe(503);
  expect(JSON.stringify(harness.logged)).toContain('EXDEV');
  await rm(elsewhere, { recursive: true });
}

describe('data that the partner sends', () => {
  beforeAll(async () => {
    for (const part of [wholeFlow, manyFaults, defects, diskFault]) await part();
  });

  const expectNoSecret = (texts: readonly string[]): void => {
    const holding = (secret: string) => texts.filter((text) => text.toLowerCase().includes(secret.toLowerCase()));
    expect([...secrets].flatMap(holding)).toEqual([]);
  };

  it('does not appear in the log', () => {
    const lines = harness.logged.map((line) => JSON.stringify(line));
    expect(lines.length).toBeGreaterThan(100);
    expectNoSecret(lines);
  });

  it('does not appear in the audit', async () => {
    const { prisma } = harness.domain.db;
    const rows = await prisma.$queryRaw<{ row: string }[]>`SELECT audit_event::text AS row FROM audit_event`;
    expect(rows.length).toBeGreaterThan(100);
    expectNoSecret(rows.map(({ row }) => row));
  });

  it('does not appear in the log of PostgreSQL, which holds every statement and error', () => {
    if (databaseLog === undefined) return;
    const expected = ['LOG:  execute ', 'FROM client WHERE', 'violates check constraint "never"', 'STATEMENT: '];
    expect(expected.filter((part) => !databaseLog?.includes(part))).toEqual([]);
    expectNoSecret(databaseLog.split('\n'));
  });

  it('does not appear in the metrics, nor does any UUID', async () => {
    const page = await metrics.registry.metrics();
    expect(page).toContain('\nces_document_fetches_total{outcome="document_fetch_failed"}');
    expectNoSecret([page]);
    expect(page).not.toMatch(new RegExp(`${partner.tenantId}|[0-9a-f]{8}-[0-9a-f]{4}-`));
  });

  it('does not appear in an error response', () => {
    const answers = failures.map(({ status, text, headers }) => `${status} ${JSON.stringify([...headers])} ${text}`);
    expect(answers.length).toBeGreaterThan(100);
    expectNoSecret(answers);
  });

  it('does not appear in the log line of a request, which has ids, path template, status and duration', () => {
    const routes = ['null null', ...operations.map(({ operationId, path }) => `${operationId} ${path}`)];
    const lines = harness.logged.filter(({ msg }) => msg === 'request');
    for (const { code, tenantId, clientId, route, operationId, method, ...line } of lines) {
      expect(line).toEqual({
        level: 30,
        time: expect.any(Number),
        msg: 'request',
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        status: expect.any(Number),
        durationMs: expect.any(Number),
      });
      expect(String(method)).toMatch(/^[A-Z]+$/);
      expect(routes).toContain(`${String(operationId)} ${String(route)}`);
      expect([undefined, partner.tenantId]).toContain(tenantId);
      expect([undefined, partner.clientId]).toContain(clientId);
      expect(code ?? 'none').toEqual(expect.stringMatching(/^[a-z_]+$/));
    }
  });

  it('does not appear in the log line of an internal error, which has its code and causes', () => {
    const others = harness.logged.filter(({ level }) => level === 50);
    expect(others.length).toBeGreaterThan(10);
    for (const { sqlstate = '00000', ...line } of others) {
      expect(sqlstate).toMatch(/^[0-9A-Z]{5}$/);
      expect(line).toEqual({
        level: 50,
        time: expect.any(Number),
        msg: 'request failed',
        requestId: expect.any(String),
        code: expect.any(String),
        causes: expect.any(Array),
      });
      const causes = line['causes'] as object[];
      expect(causes).not.toEqual([]);
      for (const cause of causes) {
        expect(['name', 'code', 'message', 'stack']).toEqual(expect.arrayContaining(Object.keys(cause)));
      }
    }
  });
});
