import { Client } from 'pg';
import { openDatabase } from '../../../src/adapters/database/database.js';
import type { AuditRow, DomainContext } from '../../../src/context.js';
import { auditRecorder, type RecordAudit } from '../../../src/domain/audit/recorder.js';
import { purgeAudit } from '../../../src/domain/sweeps/purgeAudit.js';
import { addCheckpoints } from '../../../src/domain/audit/checkpoints.js';
import { MAX_UNSEALED_MS, verifyAudit } from '../../../src/domain/audit/verify.js';
import { systemContext } from '../../../src/runtime/systemContext.js';
import { everyCase } from '../../support/everyCase.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { statementsOf } from '../../support/statements.js';

let database: TestDatabase;
let context: DomainContext;
let record: RecordAudit;
let superuser: Client;
let now: Date;
beforeAll(async () => {
  database = await createTestDatabase();
  context = { ...systemContext(openDatabase(database.url)), now: () => now };
  record = auditRecorder(context);
  superuser = new Client({ connectionString: database.url });
  await superuser.connect();
});
afterAll(async () => {
  await context.db.close();
  await superuser.end();
  await database.drop();
});

const day = 86_400_000;
const start = new Date('2026-11-20T16:00:00.000Z');

function row(changes: Partial<AuditRow> = {}): AuditRow {
  return {
    at: now,
    tenantId: 'lakeside',
    clientId: 'ces_k5xw4zdpnrqw2y3imfzg',
    operator: null,
    operationId: 'getPatient',
    resourceType: 'patient',
    resourceId: context.newId(),
    patientId: context.newId(),
    status: 200,
    code: null,
    requestId: context.newId(),
    ip: '2001:db8::1',
    outcome: 'success',
    reviewerRef: null,
    count: null,
    ...changes,
  };
}

/** Rows 1 to 3, 5 to 7 and 8 to 10 in three checkpoints, and row 11, which is unsealed. The row at position 4 failed. */
async function fill(): Promise<void> {
  await asSuperuser('TRUNCATE audit_event, audit_seal RESTART IDENTITY');
  now = start;
  for (let checkpoint = 0; checkpoint < 3; checkpoint += 1) {
    await Promise.all([
      record(row()),
      record(row({ patientId: null, ip: null })),
      record(row({ code: 'x', status: 404 })),
    ]);
    expect(await addCheckpoints(context)).toBe(1);
    now = new Date(now.getTime() + day);
    if (checkpoint === 0) await expect(record(row({ outcome: 'odd' as 'failed' }))).rejects.toThrow('is unavailable');
  }
  await record(row());
}
beforeEach(fill);

/** Bypasses triggers and grants. */
async function asSuperuser(...statements: string[]): Promise<void> {
  for (const sql of ['SET session_replication_role = replica', ...statements, 'RESET session_replication_role']) {
    await superuser.query(sql);
  }
}

const swap = (one: number, other: number): string[] => {
  const move = (from: number, to: number): string => `INSERT INTO audit_event OVERRIDING SYSTEM VALUE
    SELECT ${to}, at, tenant_id, client_id, operator, operation_id, resource_type, resource_id, patient_id, status, code,
      request_id, ip, outcome, reviewer_ref, count FROM audit_event WHERE position = ${from}; DELETE FROM audit_event WHERE position = ${from}`;
  return [move(one, 0), move(other, one), move(0, other)];
};

it('verifies the chain over unchanged rows and returns the latest checkpoint', async () => {
  const verdict = await verifyAudit(context);
  expect(verdict).toEqual({
    checkpoints: 3,
    rows: 9,
    fault: null,
    head: { number: 3, hash: expect.stringMatching(/^\w{64}$/) },
  });
  await addCheckpoints(context);
  expect(await verifyAudit(context)).toMatchObject({ checkpoints: 4, rows: 10, fault: null });
  expect(await addCheckpoints(context)).toBe(0);
});

const insertAt = (position: number): string =>
  `INSERT INTO audit_event (position, at, operation_id, outcome) OVERRIDING SYSTEM VALUE
    VALUES (${position}, now(), 'getPatient', 'success')`;

/** Name, statements and the fault that `verifyAudit` reports. */
const tampering: [string, string[], string][] = [
  ['changed', [`UPDATE audit_event SET client_id = 'ces_somebody' WHERE position = 5`], 'Row 5 was changed.'],
  ['emptied', ['UPDATE audit_event SET request_id = NULL WHERE position IN (5, 8)'], 'Row 5 was changed.'],
  [
    'given another provider',
    [`UPDATE audit_event SET reviewer_ref = 'NPI-2' WHERE position = 5`],
    'Row 5 was changed.',
  ],
  ['dated back', [`UPDATE audit_event SET at = at - interval '1 s' WHERE position = 10`], 'Row 10 was changed.'],
  ['removed', ['DELETE FROM audit_event WHERE position = 6'], 'Row 6 was removed.'],
  ['removed, all of a checkpoint', ['DELETE FROM audit_event WHERE position <= 3'], 'Row 1 was removed.'],
  ['inserted', [insertAt(4)], 'Row 4 was inserted.'],
  ['inserted before the first', [insertAt(0)], 'Row 0 was inserted.'],
  ['reordered', swap(5, 7), 'Row 5 was reordered: it was sealed as row 7.'],
  [
    'changed, with a checkpoint that fits',
    [
      `UPDATE audit_event SET outcome = 'failed' WHERE position = 2`,
      `UPDATE audit_seal SET digests = substr(digests, 1, 41) || sha256('x') || substr(digests, 81) WHERE number = 1`,
    ],
    'Checkpoint 1 was changed, or the one before it.',
  ],
  ['a checkpoint removed', ['DELETE FROM audit_seal WHERE number = 2'], 'Checkpoint 2 is missing.'],
  ['the first checkpoint removed', ['DELETE FROM audit_seal WHERE number = 1'], 'Checkpoint 1 is missing.'],
];

it('names the first row or checkpoint that a superuser changed', () =>
  everyCase(
    tampering,
    ([what]) => what,
    async ([, statements, expected]) => {
      await fill();
      await asSuperuser(...statements);
      expect(await verifyAudit(context)).toMatchObject({ fault: expected });
    },
  ));

it('detects a change of any column of a row', async () => {
  const { rows } = await superuser.query<{ name: string; type: string }>(`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = 'audit_event'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'position'`);
  const others: Readonly<Record<string, string>> = {
    uuid: 'gen_random_uuid()',
    inet: `'192.0.2.1'`,
    integer: '599',
    'timestamp(3) with time zone': `at + interval '1 ms'`,
  };
  await everyCase(
    rows,
    ({ name }) => name,
    async ({ name, type }) => {
      await fill();
      const other = name === 'outcome' ? `'failed'` : (others[type] ?? `'another'`);
      await asSuperuser(`UPDATE audit_event SET ${name} = ${other} WHERE position = 6`);
      expect(await verifyAudit(context)).toMatchObject({ fault: 'Row 6 was changed.' });
    },
  );
}, 30_000);

it('names a row that stays unsealed for longer than MAX_UNSEALED_MS', async () => {
  now = new Date(now.getTime() + MAX_UNSEALED_MS);
  expect(await verifyAudit(context)).toMatchObject({ fault: null });
  now = new Date(now.getTime() + 1);
  expect(await verifyAudit(context)).toMatchObject({ fault: expect.stringMatching(/^Row 11 has not been sealed/) });
  await addCheckpoints(context);
  expect(await verifyAudit(context)).toMatchObject({ fault: null });
});

it('confirms the checkpoint that the operator expects, or names it as missing or changed', async () => {
  const { head } = await verifyAudit(context);
  const noted = { number: 3n, hash: String(head?.hash) };
  await addCheckpoints(context);
  expect(await verifyAudit(context, noted)).toMatchObject({ checkpoints: 4, fault: null });
  const rewritten = { number: 3n, hash: '0'.repeat(64) };
  expect(await verifyAudit(context, rewritten)).toMatchObject({
    fault: 'The hash of checkpoint 3 is not the one that --expect names.',
  });
  await asSuperuser('DELETE FROM audit_seal WHERE number > 2', 'DELETE FROM audit_event WHERE position > 7');
  expect(await verifyAudit(context)).toMatchObject({ fault: null });
  expect(await verifyAudit(context, noted)).toMatchObject({
    fault: expect.stringMatching(/^Checkpoint 3 .* is missing/),
  });
});

it('waits for a row that commits late, and seals it', async () => {
  await superuser.query('BEGIN');
  await superuser.query(`INSERT INTO audit_event (at, operation_id, outcome) VALUES (now(), 'getPatient', 'success')`);
  await record(row());
  const sealed = addCheckpoints(context);
  await superuser.query(`SELECT pg_sleep(0.2)`);
  await superuser.query('COMMIT');
  expect(await sealed).toBe(1);
  expect(await verifyAudit(context)).toMatchObject({ rows: 12, fault: null });
});

it('refuses to change or remove a row or a checkpoint outside of retention', async () => {
  const { db } = context;
  for (const table of ['audit_event', 'audit_seal']) {
    for (const sql of [`UPDATE ${table} SET through = through`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
      const statement = table === 'audit_event' ? sql.replaceAll('through', 'code') : sql;
      await expect(db.prisma.$executeRawUnsafe(statement)).rejects.toThrow('never changed');
    }
  }
  expect(await verifyAudit(context)).toMatchObject({ rows: 9, fault: null });
});

it('removes whole checkpoints past their retention, and verifies the remaining ones', async () => {
  const kept = async () =>
    (await superuser.query('SELECT count(*)::int AS rows, min(position)::int AS first FROM audit_event')).rows[0];
  // Checkpoint 1 is three days old, checkpoint 2 two days.
  expect(await purgeAudit(context, 4)).toBe(0);
  expect(await purgeAudit(context, 2.5)).toBe(3);
  expect(await kept()).toEqual({ rows: 7, first: 5 });
  expect(await purgeAudit(context, 2.5)).toBe(0);
  expect(await purgeAudit(context, 1.5)).toBe(3);
  expect(await verifyAudit(context)).toMatchObject({ rows: 3, fault: null });
  await addCheckpoints(context);
  expect(await verifyAudit(context)).toMatchObject({ rows: 4, fault: null });

  // It still detects a removal that the chain does not contain, and a row inserted where retention removed rows.
  await asSuperuser('DELETE FROM audit_event WHERE position = 8');
  expect(await verifyAudit(context)).toMatchObject({ fault: 'Row 8 was removed.' });
  await asSuperuser(insertAt(2));
  expect(await verifyAudit(context)).toMatchObject({ fault: 'Row 2 was inserted.' });
  await asSuperuser('DELETE FROM audit_seal WHERE removes IS NOT NULL');
  expect(await verifyAudit(context)).toMatchObject({ fault: 'Checkpoint 1 is missing.' });
});

it('commits concurrent rows together, each before its call returns', async () => {
  const rows = Array.from({ length: 200 }, () => row());
  const statements = await statementsOf(() =>
    Promise.all(
      rows.map(async (one) => {
        await record(one);
        const found = await context.db.prisma
          .$queryRaw`SELECT 1 FROM audit_event WHERE request_id = ${one.requestId}::uuid`;
        expect(found).toHaveLength(1);
      }),
    ),
  );
  const inserts = statements.filter(({ text }) => text.startsWith('INSERT INTO "audit_event"'));
  expect(inserts.length).toBeLessThan(20);
});
