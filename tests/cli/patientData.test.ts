import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { encounterBody, newEncounter, newPartner, newPatient, patientBody, shipTo } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { call, type Answer } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { filesBelow } from '../support/objectStores.js';
import { cancelled, deny, reviewed } from '../support/reviews.js';
import { refusal, openOperator } from './operator.js';
import { runProgram } from './runProgram.js';

/** Marks every value that describes the person. */
const MARK = 'zqy';

const files = await startFileHost();
const { harness, database, environment, run, json } = await openOperator('service', {
  environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host },
});
const partner = await newPartner(harness);
afterAll(() => files.close());

async function send(target: string, json: object, key: string): Promise<Answer['body']> {
  const answer = await call(harness, target, { token: partner.token, json, headers: { 'Idempotency-Key': key } });
  if (answer.status >= 300) throw new Error(`${target}: ${answer.status} ${answer.text}`);
  return answer.body;
}

interface Person {
  readonly id: string;
  readonly documentId: string;
  readonly open: Answer['body'];
  readonly completed: Answer['body'];
}

/** A patient with marked names and optional texts, a document, and a denied, a completed and an open encounter. */
async function markedPerson(): Promise<Person> {
  const name = { firstName: MARK, lastName: MARK, email: `${MARK}@example.com`, notes: MARK, medicalHistory: MARK };
  const { user_id: id } = await send('POST /clients', patientBody(name), `${MARK} patient`);
  const url = files.serve(`/${MARK}.pdf`, { content: sampleFiles.pdf });
  const upload = `POST /clients-documents/${id}/upload-url/lab-results`;
  const { documentId } = await send(upload, { url, fileName: `${MARK}.pdf` }, `${MARK} document`);
  const own = { reference: 'APPT-1', metadata: { [MARK]: MARK } };
  const address = { ...shipTo, city: MARK };
  const more = { patientId: id, documentIds: [documentId], additionalNotes: MARK, shipTo: address, ...own };
  const encounter = async (key: string): Promise<Answer['body']> =>
    send('POST /encounters', { ...(await encounterBody(harness, partner)), ...more }, key);
  const denied = () => ({ ...deny({ categoryId: '' }, 0), reason: MARK });
  await reviewed(harness, partner, await encounter('denied'), denied);
  const completed = await reviewed(harness, partner, await encounter('completed'));
  const columns = await rowsOf(
    database.url,
    `SELECT quote_ident(attname) AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = 'client'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND NOT attnotnull
       AND atttypid IN ('text'::regtype, 'jsonb'::regtype)`,
  );
  const assignments = columns.map(({ name, type }) => `${String(name)} = '${type === 'jsonb' ? `"${MARK}"` : MARK}'`);
  await rowsOf(database.url, `UPDATE client SET sex = 'female', ${assignments.join(', ')} WHERE id = '${id}'`);
  const ofPatient = `FROM encounter WHERE patient_id = '${id}' AND status = 'denied'`;
  for (const sql of [
    `UPDATE encounter SET review_notes = '${MARK}' WHERE patient_id = '${id}'`,
    `INSERT INTO encounter_information SELECT gen_random_uuid(), tenant_id, id, now(), 'r', '${MARK}', now(), '${MARK}', now() ${ofPatient}`,
    `INSERT INTO encounter_addendum SELECT gen_random_uuid(), tenant_id, id, now(), 'r', '${MARK}' ${ofPatient}`,
    `UPDATE order_line SET carrier = '${MARK}', tracking_number = '${MARK}', reason = '${MARK}'
     WHERE order_id IN (SELECT id FROM "order" WHERE order_no = '${completed.order_no}')`,
  ]) {
    await rowsOf(database.url, sql);
  }
  return { id, documentId, completed, open: await encounter('open') };
}

/** Counts the rows that contain the mark, by table. */
async function markedRows(): Promise<Record<string, number>> {
  const tables = await rowsOf(
    database.url,
    `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await rowsOf(
      database.url,
      `SELECT count(*)::int AS count FROM ${String(name)} AS t WHERE to_jsonb(t)::text ~* '${MARK}'`,
    );
    if (Number(row?.['count']) > 0) counts[String(name)] = Number(row?.['count']);
  }
  return counts;
}

const patient = (command: string, id: string, ...args: string[]): string[] => [
  ...['patient', command, id, '--tenant', partner.tenantId],
  ...args,
];

it('patient export writes the records and files of a person, and patient erase leaves no personal text or file', async () => {
  const bystander = await newPatient(harness, partner);
  const { id, documentId, open, completed } = await markedPerson();

  const to = join(harness.dataDir, 'one');
  const summary = await json(...patient('export', id, '--to', to));
  expect(summary).toEqual({ folder: to, rows: expect.any(Number), files: 1, omittedDocuments: 0 });
  const lines = (await readFile(join(to, 'patient.ndjson'), 'utf8')).split('\n').filter(Boolean);
  const rows = lines.map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> });
  expect(rows).toHaveLength(summary.rows);
  expect(rows[0]).toMatchObject({ type: 'patient', data: { id, firstName: MARK, medicalHistory: MARK } });
  const count = (type: string): number => rows.filter((row) => row.type === type).length;
  expect([count('document'), count('encounter'), count('order')]).toEqual([1, 3, 1]);
  expect([count('event') > 5, count('audit') > 5]).toEqual([true, true]);
  expect(rows.find(({ type }) => type === 'order')?.data).toMatchObject({ shipTo: { city: MARK } });
  expect(rows.some(({ data }) => JSON.stringify(data).includes(bystander))).toBe(false);
  expect(await readdir(join(to, 'files'))).toEqual([documentId]);
  expect(await readFile(join(to, 'files', documentId))).toEqual(Buffer.from(sampleFiles.pdf));
  const modes = await Promise.all(
    [to, join(to, 'patient.ndjson')].map(async (path) => (await stat(path)).mode & 0o777),
  );
  expect(modes).toEqual([0o700, 0o600]);
  expect((await run(...patient('export', id, '--to', to))).code).toBe(1);

  const before = await markedRows();
  expect(Object.keys(before).sort()).toEqual([
    ...['"order"', 'client', 'document', 'encounter', 'encounter_addendum', 'encounter_information', 'gfe_item'],
    ...['idempotency_key', 'order_line'],
  ]);
  const refusal = async (): Promise<string> => (await run(...patient('erase', id, '--yes'))).stderr;
  expect(await refusal()).toBe(`${open.gfe_no} is open. Finish or cancel it first. The patient was not erased.\n`);
  await cancelled(harness, partner, open);
  expect(await refusal()).toContain(`${completed.order_no} is open`);
  expect(await markedRows()).toEqual(before);
  const amount = (await call(harness, `GET /orders/${completed.order_no}`, partner)).body.balance_amt;
  await send(`POST /orders/${completed.order_no}/payments`, { amount }, 'paid');
  const paid = await markedRows();
  expect(await refusal()).toMatch(/^The records must be kept until \d{4}-\d\d-\d\d, 7 years after the last decision\./);
  expect(await markedRows()).toEqual(paid);

  const early = ['--yes', '--before-retention', '--reason', 'court-order/4711'];
  expect(await json(...patient('erase', id, ...early))).toEqual({ id, documents: 1, encounters: 3 });
  expect(await markedRows()).toEqual({});
  expect(await filesBelow(join(harness.dataDir, 'documents'))).toEqual([]);
  const get = async (path: string): Promise<Answer['body']> => (await call(harness, `GET ${path}`, partner)).body;
  const texts = { additionalNotes: null, documentIds: [], reference: 'APPT-1', metadata: null };
  const kept = { status: 'completed', patientId: id, ...texts };
  expect(await get(`/encounters/${completed.encounter_id}`)).toMatchObject(kept);
  expect(await get(`/orders/${completed.order_no}`)).toMatchObject({ order_status: 'paid' });
  const erased = { email: `${id}@erased.invalid`, adminUser: { isActive: false } };
  expect(await get(`/clients/${id}`)).toMatchObject(erased);
  await newPatient(harness, partner, { email: `${MARK}@example.com` });
  expect(await json(...patient('erase', id, ...early))).toEqual({ id, documents: 0, encounters: 3 });

  const commands = await rowsOf(
    database.url,
    `SELECT operation_id AS name, outcome, code, patient_ids, tenant_id FROM audit_event WHERE operator LIKE 'alice@%' ORDER BY position`,
  );
  const row = (name: string, outcome: string, code: string | null = null) => {
    return { name, outcome, code, patient_ids: [id], tenant_id: partner.tenantId };
  };
  expect(commands).toEqual([
    row('patient export', 'success'),
    ...['failed', 'failed', 'failed'].map((outcome) => row('patient erase', outcome)),
    ...['success', 'success'].map((outcome) => row('patient erase', outcome, 'court-order/4711')),
  ]);
});

it('patient erase erases nothing while ERASURE_JOURNAL cannot be written', async () => {
  const id = await newPatient(harness, partner);
  const journal = { ...environment, ERASURE_JOURNAL: '/dev/null/erasures' };
  const erased = await runProgram(journal, ...patient('erase', id, '--yes'));
  expect(erased).toEqual(refusal(1, /^Nothing was erased: \/dev\/null\/erasures cannot be written: /));
  expect((await call(harness, `GET /clients/${id}`, partner)).body.email).not.toContain('@erased.invalid');
});

it('patient erase is refused for recordRetentionYears after the last decision, and requires --before-retention and --reason together', async () => {
  const { patientId: id } = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
  const erase = (...args: string[]) => run(...patient('erase', id, '--yes', ...args));
  const decidedAgo = (age: string) =>
    rowsOf(
      database.url,
      `UPDATE gfe_item SET decided_at = now() - interval '${age}'
       WHERE encounter_id IN (SELECT id FROM encounter WHERE patient_id = '${id}')`,
    );
  await json('tenant', 'configure', partner.tenantId, '--record-retention-years', '2');
  await decidedAgo('2 years -1 hour');
  expect((await erase()).stderr).toMatch(/^The records must be kept until .*, 2 years after the last decision\./);
  await decidedAgo('2 years 1 hour');
  expect(await erase()).toMatchObject({ code: 0, stderr: '' });
  for (const half of [['--before-retention'], ['--reason', 'test'], ['--before-retention', '--reason', 'two words']]) {
    expect((await erase(...half)).code).toBe(2);
  }
});

it('patient export leaves out a document withdrawn as wrong_patient, and prints how many it left out', async () => {
  const id = await newPatient(harness, partner);
  const url = files.serve('/results.pdf', { content: sampleFiles.pdf });
  const upload = async (fileName: string): Promise<string> =>
    (await send(`POST /clients-documents/${id}/upload-url/lab-results`, { url, fileName }, fileName)).documentId;
  const [kept, other] = [await upload('kept.pdf'), await upload('other.pdf')] as const;
  await send(`POST /documents/${kept}/withdraw`, { reason: 'illegible' }, 'illegible');
  await send(`POST /documents/${other}/withdraw`, { reason: 'wrong_patient' }, 'wrong');
  const to = join(harness.dataDir, 'without');
  const { stdout } = await run(...patient('export', id, '--to', to));
  expect(stdout).toMatch(/ 1 files .*Documents left out because they belong to another person: 1\.\n$/);
  expect(await readdir(join(to, 'files'))).toEqual([kept]);
  const rows = await readFile(join(to, 'patient.ndjson'), 'utf8');
  expect(rows.match(/"type":"document"/g)).toHaveLength(1);
});

it('patient export and erase refuse a patient of another tenant and an unknown one', async () => {
  const other = await newPartner(harness);
  const foreign = await newPatient(harness, other);
  for (const id of [foreign, harness.domain.newId()]) {
    const to = join(harness.dataDir, 'none');
    const exported = await run(...patient('export', id, '--to', to));
    const erased = await run(...patient('erase', id, '--yes'));
    const refused = refusal(1, `The tenant has no patient ${id}. Check the user_id and --tenant.\n`);
    expect([exported, erased]).toEqual([refused, refused]);
    await expect(stat(to)).rejects.toThrow('ENOENT');
  }
  expect((await call(harness, `GET /clients/${foreign}`, other)).body.adminUser).toMatchObject({ isActive: true });
  expect((await run(...patient('erase', 'jane', '--yes'))).code).toBe(2);
});
