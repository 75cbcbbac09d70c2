import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newEncounter, newPartner, newPatient } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { cancelled } from '../support/reviews.js';
import { withSql } from '../support/sqlFaults.js';
import { openOperator } from './operator.js';

const folder = temporaryFolder();
const { harness, json, run } = await openOperator();
const partner = await newPartner(harness);
const { tenantId } = partner;
const completion = ['backup', 'complete', '--at', new Date().toISOString()] as const;
const isErased = async (id: string): Promise<boolean> =>
  (await harness.domain.db.prisma.patient.findFirstOrThrow({ where: { tenantId, id } })).firstName !== 'Jane';

it('backup complete skips at least a million encounter numbers, and warns if ERASURE_JOURNAL does not exist', async () => {
  const before = (await newEncounter(harness, partner)).encounter_id;
  const warning =
    /^No erasure is repeated: .*\/erasures\.ndjson is missing, or .* begin again with --erasures \(a restore: into an empty database\)\.\n$/;
  expect(await run(...completion)).toMatchObject({ code: 0, stderr: expect.stringMatching(warning) });
  expect((await newEncounter(harness, partner)).encounter_id).toBeGreaterThan(Number(before) + 1_000_000);
  const where = { operationId: 'backup complete', tenantId: '-' };
  expect(await harness.domain.db.prisma.auditEvent.count({ where })).toBe(1);
});

it.each(['1026-11-28', '9026-11-28T16:00:00Z'])('backup complete refuses the impossible time %s', async (at) => {
  const before = (await newEncounter(harness, partner)).encounter_id;
  const refused = await run('backup', 'complete', '--at', at);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/--at must be from 20[^ ]*Z, .* to the present\. Give .* variables\.\n$/),
  });
  expect((await newEncounter(harness, partner)).encounter_id).toBe(Number(before) + 1);
});

it('backup complete lists the erasures that fail with their reasons and commands, which work once the reasons are gone', async () => {
  const { patientId, gfe_no: gfeNo, encounter_id: id } = await newEncounter(harness, partner);
  const entry = { tenantId, patientId, erasedAt: '2026-11-28T00:00:00.000Z' };
  await writeFile(folder('failing'), `${JSON.stringify(entry)}\n`);
  const { code, stdout, stderr } = await run(...completion, '--erasures', folder('failing'));
  expect([code, stdout]).toEqual([1, 'Erasures must be repeated. Patients erased: 0.\n']);
  const [, why, command = ''] = stderr.split('\n');
  expect(why).toBe(`${gfeNo} is open. Finish or cancel it first. The patient was not erased.`);
  await cancelled(harness, partner, { encounter_id: id });
  expect(await run(...command.replace('  $ ces ', '').split(' '))).toMatchObject({ code: 0, stderr: '' });
  expect(await isErased(patientId)).toBe(true);
});

it('backup complete prints the reason of PostgreSQL as a sentence when the database refuses an erasure', async () => {
  const entry = { tenantId, patientId: await newPatient(harness, partner), erasedAt: '2026-11-28T00:00:00.000Z' };
  await writeFile(folder('refused'), `${JSON.stringify(entry)}\n`);
  const refuse = `ALTER TABLE client ADD CONSTRAINT kept CHECK (email NOT LIKE '%.invalid') NOT VALID`;
  const { stderr } = await withSql(harness, refuse, 'ALTER TABLE client DROP CONSTRAINT kept', () =>
    run(...completion, '--erasures', folder('refused')),
  );
  expect(stderr.split('\n')[1]).toBe('new row for relation "client" violates check constraint "kept".');
});

it.each([
  ['--erasures', folder('erasures'), ['--erasures', folder('erasures')]],
  ['ERASURE_JOURNAL', join(harness.dataDir, 'erasures.ndjson'), []],
])('backup complete erases the patients of %s again', async (_name, journal, options) => {
  const id = await newPatient(harness, partner);
  await writeFile(journal, `${JSON.stringify({ tenantId, patientId: id, erasedAt: '2026-11-28T00:00:00.000Z' })}\n`);
  expect(await json(...completion, ...options)).toEqual({ erased: 1 });
  expect(await isErased(id)).toBe(true);
});
