import { writeFile } from 'node:fs/promises';
import { newEncounter, newPartner, newPatient } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { openOperator } from './operator.js';

const folder = temporaryFolder();
const { harness, json } = await openOperator();

it('backup complete skips the numbers since the point in time, and erases the patients of the journal again', async () => {
  const partner = await newPartner(harness);
  const { tenantId } = partner;
  const before = (await newEncounter(harness, partner)).encounter_id;
  const id = await newPatient(harness, partner);
  await writeFile(
    folder('erasures'),
    `${JSON.stringify({ tenantId, patientId: id, erasedAt: '2026-11-28T00:00:00.000Z' })}\n`,
  );
  const completed = await json(
    'backup',
    'complete',
    '--at',
    new Date().toISOString(),
    '--erasures',
    folder('erasures'),
  );
  expect(completed).toEqual({ erased: 1 });
  const { firstName } = await harness.domain.db.prisma.patient.findFirstOrThrow({ where: { tenantId, id } });
  expect(firstName).not.toBe('Jane');
  expect((await newEncounter(harness, partner)).encounter_id).toBeGreaterThan(Number(before) + 1_000_000);
  const where = { operationId: 'backup complete' };
  expect(await harness.domain.db.prisma.auditEvent.count({ where: { ...where, tenantId: '-' } })).toBe(1);
});
