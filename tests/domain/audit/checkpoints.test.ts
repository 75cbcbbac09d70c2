import { Client } from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../../../src/adapters/database/database.js';
import type { AuditRow } from '../../../src/context.js';
import { auditRecorder } from '../../../src/domain/audit/recorder.js';
import { purgeAudit } from '../../../src/domain/sweeps/purgeAudit.js';
import { addCheckpoints } from '../../../src/domain/audit/checkpoints.js';
import { MAX_UNSEALED_MS, verifyAudit } from '../../../src/domain/audit/verify.js';
import { systemContext } from '../../../src/runtime/systemContext.js';
import { everyCase } from '../../support/everyCase.js';
import { createTestDatabase } from '../../support/postgres.js';
import { isAudit, statementsOf } from '../../support/statements.js';
import { auditRow } from './auditRow.js';

let now: Date;
const database = await createTestDatabase();
const logged: Record<string, unknown>[] = [];
const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
const context = { ...systemContext(openDatabase(database.url)), now: () => now, log };
const record = auditRecorder(context);
const superuser = new Client({ connectionString: database.url });
await superuser.connect();
afterAll(async () => {
  await context.db.close();
  await superuser.end();
  await database.drop();
});

const day = 86_400_000;
const start = new Date('2026-11-20T16:00:00.000Z');

const row = (changes: Partial<AuditRow> = {}): AuditRow => auditRow({ at: now, ...changes });
const verdict = () => verifyAudit(context);
const expectFault = async (fault: string | null): Promise<void> =>
  expect(await verdict()).toMatchObject({ fault: fault && `lakeside: ${fault}` });

/** Rows 1 to 3, 5 to 7 and 8 to 10 in three checkpoints, and row 11 in none. Position 4 is skipped, as after a restore. */
async function fill(): Promise<void> {
  await asSuperuser('TRUNCATE audit_event, audit_seal, audit_counter');
  now = start;
  for (let checkpoint = 0; checkpoint < 3; checkpoint += 1) {
    const rows = [row(), row({ patientIds: [], ip: null }), row({ code: 'x', status: 404 })];
    await Promise.all(rows.map(record));
    expect(await addCheckpoints(context)).toBe(1);
    now = new Date(now.getTime() + day);
    await expect(record(row({ outcome: 'odd' as 'failed' }))).rejects.toThrow('is unavailable');
    if (checkpoint === 0) await superuser.query('UPDATE audit_counter SET position = position + 1');
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

/** Exchanges two rows by way of position 0. */
const swap = (first: number, second: number): string[] => {
  const columns = `at, tenant_id, client_id, operator, operation_id, resource_type, resource_id, patient_ids, status, code,
    request_id, ip, outcome, reviewer_ref`;
  const move = (from: number, to: number): string => `INSERT INTO audit_event (position, ${columns})
    SELECT ${to}, ${columns} FROM audit_event WHERE position = ${from};
    DELETE FROM audit_event WHERE position = ${from}`;
  return [move(first, 0), move(second, first), move(0, second)];
};

it('verification of the audit chain accepts unchanged rows and returns the latest checkpoint', async () => {
  const head = { tenantId: 'lakeside', number: 3, hash: expect.stringMatching(/^\w{64}$/) };
  expect(await verdict()).toEqual({ checkpoints: 3, rows: 9, fault: null, heads: [head] });
  const { heads } = await verdict();
  expect(logged.at(-1)).toMatchObject({ tenantId: 'lakeside', checkpoint: 3, hash: heads[0]?.hash });
  await addCheckpoints(context);
  expect(await verdict()).toMatchObject({ checkpoints: 4, rows: 10, fault: null });
  expect(await addCheckpoints(context)).toBe(0);
});

const insertAt = (position: number): string =>
  `INSERT INTO audit_event (tenant_id, position, at, operation_id, outcome)
    VALUES ('lakeside', ${position}, now(), 'getPatient', 'success')`;

/** Name, statements and the fault that `verifyAudit` reports. */
const tampering: [string, string[], string][] = [
  ['changed', [`UPDATE audit_event SET client_id = 'ces_somebody' WHERE position = 5`], 'Row 5 was changed.'],
  ['emptied', ['UPDATE audit_event SET request_id = NULL WHERE position IN (5, 8)'], 'Row 5 was changed.'],
  ['given a provider', [`UPDATE audit_event SET reviewer_ref = 'NPI-2' WHERE position = 5`], 'Row 5 was changed.'],
  ['dated back', [`UPDATE audit_event SET at = at - interval '1 s' WHERE position = 10`], 'Row 10 was changed.'],
  ['removed', ['DELETE FROM audit_event WHERE position = 6'], 'Row 6 was removed.'],
  ['removed, all of a checkpoint', ['DELETE FROM audit_event WHERE position <= 3'], 'Row 1 was removed.'],
  ['inserted', [insertAt(4)], 'Row 4 was inserted.'],
  ['inserted before the first', [insertAt(0)], 'Row 0 was inserted.'],
  ['reordered', swap(5, 7), 'Row 5 was reordered: its checkpoint has it as row 7.'],
  [
    'changed, with a checkpoint that fits',
    [
      `UPDATE audit_event SET outcome = 'failed' WHERE position = 2`,
      `UPDATE audit_seal SET digests = substr(digests, 1, 41) || sha256('x') || substr(digests, 81) WHERE number = 1`,
    ],
    'Checkpoint 1 or the one before it was changed.',
  ],
  ['a checkpoint removed', ['DELETE FROM audit_seal WHERE number = 2'], 'Checkpoint 2 is missing.'],
  ['the first checkpoint removed', ['DELETE FROM audit_seal WHERE number = 1'], 'Checkpoint 1 is missing.'],
];

it('verification of the audit chain detects tampering and names the first affected row or checkpoint', () =>
  everyCase(
    tampering,
    ([name]) => name,
    async ([, statements, fault]) => {
      await fill();
      await asSuperuser(...statements);
      await expectFault(fault);
    },
  ));

it('verification of the audit chain detects a change to any column of a row but its tenant and position', async () => {
  const { rows } = await superuser.query<{ name: string; type: string }>(`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = 'audit_event'::regclass AND attnum > 0 AND NOT attisdropped
      AND attname NOT IN ('tenant_id', 'position')`);
  const others: Readonly<Record<string, string>> = {
    uuid: 'gen_random_uuid()',
    'uuid[]': 'patient_ids || gen_random_uuid()',
    inet: `'192.0.2.1'`,
    integer: '599',
    'timestamp(3) with time zone': `at + interval '1 ms'`,
  };
  const nameOf = ({ name }: { name: string }) => name;
  await everyCase(rows, nameOf, async ({ name, type }) => {
    await fill();
    const other = name === 'outcome' ? `'failed'` : (others[type] ?? `'another'`);
    await asSuperuser(`UPDATE audit_event SET ${name} = ${other} WHERE position = 6`);
    await expectFault('Row 6 was changed.');
  });
});

it('verification of the audit chain names a row without checkpoint that is older than MAX_UNSEALED_MS', async () => {
  now = new Date(now.getTime() + MAX_UNSEALED_MS);
  await expectFault(null);
  now = new Date(now.getTime() + 1);
  expect((await verdict()).fault).toMatch(/^lakeside: Row 11 has had no checkpoint/);
  await addCheckpoints(context);
  await expectFault(null);
});

it('verification of the audit chain returns the latest checkpoint, so that one noted earlier reveals a cut-off end', async () => {
  const noted = (await verifyAudit(context)).heads[0];
  expect(noted).toMatchObject({ tenantId: 'lakeside', number: 3, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  await asSuperuser('DELETE FROM audit_seal WHERE number > 2', 'DELETE FROM audit_event WHERE position > 7');
  await expectFault(null);
  expect((await verifyAudit(context)).heads[0]).toMatchObject({ tenantId: 'lakeside', number: 2 });
});

it('each tenant, and rows without a tenant, have a chain of their own, whose positions have no gaps', async () => {
  await asSuperuser('TRUNCATE audit_event, audit_seal, audit_counter');
  const rows = ['harbor', null, 'lakeside', 'harbor', null, 'harbor'].map((tenantId) => row({ tenantId }));
  await Promise.all(rows.map(record));
  expect(await addCheckpoints(context)).toBe(3);
  const heads = [
    { tenantId: '-', number: 1 },
    { tenantId: 'harbor', number: 1 },
    { tenantId: 'lakeside', number: 1 },
  ];
  expect(await verdict()).toMatchObject({ checkpoints: 3, rows: 6, fault: null, heads });
  const stored = await superuser.query('SELECT tenant_id, position::int FROM audit_event ORDER BY 1, 2');
  const positions = [
    ['-', 1],
    ['-', 2],
    ['harbor', 1],
    ['harbor', 2],
    ['harbor', 3],
    ['lakeside', 1],
  ];
  expect(stored.rows.map(Object.values)).toEqual(positions);
  await asSuperuser(`UPDATE audit_event SET code = 'x' WHERE tenant_id = '-' AND position = 2`);
  expect((await verdict()).fault).toBe('Rows without a tenant: Row 2 was changed.');
  await asSuperuser(
    `UPDATE audit_event SET code = NULL WHERE tenant_id = '-'`,
    `UPDATE audit_event SET tenant_id = 'bay' WHERE tenant_id = 'harbor'`,
    `UPDATE audit_seal SET tenant_id = 'bay' WHERE tenant_id = 'harbor'`,
    `UPDATE audit_counter SET tenant_id = 'bay' WHERE tenant_id = 'harbor'`,
  );
  expect((await verdict()).fault).toBe('bay: Checkpoint 1 or the one before it was changed.');
});

it('rows of one tenant are recorded while the counter of another tenant is locked', async () => {
  await superuser.query('BEGIN');
  await superuser.query(`SELECT FROM audit_counter WHERE tenant_id = 'lakeside' FOR UPDATE`);
  const waiting = record(row());
  await record(row({ tenantId: 'harbor' }));
  await superuser.query('ROLLBACK');
  await waiting;
  expect(await addCheckpoints(context)).toBe(2);
});

it('a checkpoint added during an uncommitted insert covers neither that audit row nor later ones, and the next checkpoint covers both', async () => {
  await superuser.query('BEGIN');
  await superuser.query(`UPDATE audit_counter SET position = position + 1 WHERE tenant_id = 'lakeside'`);
  await superuser.query(insertAt(12));
  const later = record(row());
  expect(await addCheckpoints(context)).toBe(1);
  await superuser.query('COMMIT');
  await later;
  expect(await addCheckpoints(context)).toBe(1);
  expect(await verdict()).toMatchObject({ checkpoints: 5, rows: 12, fault: null });
});

it('the database refuses UPDATE, DELETE and TRUNCATE of audit rows and checkpoints', async () => {
  const { db } = context;
  const updates = ['UPDATE audit_event SET code = code', 'UPDATE audit_seal SET through = through'];
  const removals = ['audit_event', 'audit_seal'].flatMap((table) => [`DELETE FROM ${table}`, `TRUNCATE ${table}`]);
  for (const statement of [...updates, ...removals]) {
    await expect(db.prisma.$executeRawUnsafe(statement)).rejects.toThrow('never changed');
  }
  expect(await verdict()).toMatchObject({ rows: 9, fault: null });
});

it('audit retention removes whole checkpoints past their period, and verification accepts the remaining ones', async () => {
  const kept = async () =>
    (await superuser.query('SELECT count(*)::int AS rows, min(position)::int AS first FROM audit_event')).rows[0];
  // Checkpoint 1 is three days old, checkpoint 2 two days.
  expect(await purgeAudit(context, 4)).toBe(0);
  expect(await purgeAudit(context, 2.5)).toBe(3);
  expect(await kept()).toEqual({ rows: 7, first: 5 });
  expect(await purgeAudit(context, 2.5)).toBe(0);
  expect(await purgeAudit(context, 1.5)).toBe(3);
  expect(await verdict()).toMatchObject({ rows: 3, fault: null });
  await addCheckpoints(context);
  expect(await verdict()).toMatchObject({ rows: 4, fault: null });

  // Verification still detects a removal that the chain does not record, and a row inserted where retention removed rows.
  await asSuperuser('DELETE FROM audit_event WHERE position = 8');
  await expectFault('Row 8 was removed.');
  await asSuperuser(insertAt(2));
  await expectFault('Row 2 was inserted.');
  await asSuperuser('DELETE FROM audit_seal WHERE removes IS NOT NULL');
  await expectFault('Checkpoint 1 is missing.');
});

it('concurrent audit rows are committed together, each before its call returns', async () => {
  const recordOne = async (): Promise<void> => {
    const concurrent = row();
    await record(concurrent);
    const where = { requestId: concurrent.requestId, tenantId: 'lakeside' };
    expect(await context.db.prisma.auditEvent.count({ where })).toBe(1);
  };
  const statements = await statementsOf(() => Promise.all(Array.from({ length: 200 }, recordOne)));
  expect(statements.filter(isAudit).length).toBeLessThan(20);
  expect(statements.filter(isAudit).length).toBeGreaterThan(0);
});
