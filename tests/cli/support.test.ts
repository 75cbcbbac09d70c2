import { newEncounter, newPartner, newPatient } from '../support/factories.js';
import { rowsOf } from '../support/migrations.js';
import { completedEncounter } from '../support/reviews.js';
import { refusal, openOperator } from './operator.js';

const { harness, database, run, json } = await openOperator();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner, { email: 'Ann.Support@example.com' });

const command = (...words: string[]): string[] => [...words, '--tenant', partner.tenantId];

/** The audit rows of a command: resource, patients and outcome. */
async function audited(operationId: string): Promise<unknown[]> {
  const where = { tenantId: partner.tenantId, operationId };
  const rows = await harness.domain.db.prisma.auditEvent.findMany({ where, orderBy: { position: 'asc' } });
  return rows.map(({ resourceType, resourceId, patientIds, outcome }) => [
    resourceType,
    resourceId,
    patientIds,
    outcome,
  ]);
}

describe('patient find', () => {
  it('prints id and verification of the patient with an e-mail, and is audited as a read of the patient', async () => {
    const email = 'ann.support@EXAMPLE.com';
    const found = { userId: patientId, isVerified: 'NOTVERIFIED', createdAt: expect.any(String) };
    expect(await json(...command('patient', 'find', '--email', email))).toEqual(found);
    const { stdout } = await run(...command('patient', 'find', '--email', email));
    expect(stdout).toMatch(new RegExp(`^user id +${patientId}\\nverified +NOTVERIFIED\\ncreated +\\S+\\n$`));
    expect(await audited('patient find')).toEqual(Array(2).fill(['patient', patientId, [patientId], 'success']));
  });

  it('does not find a patient of another tenant, and neither shows nor records the e-mail', async () => {
    const other = await newPartner(harness);
    const refused = await run('patient', 'find', '--email', 'ann.support@example.com', '--tenant', other.tenantId);
    expect(refused).toEqual(refusal(1, `The tenant ${other.tenantId} has no patient with this e-mail.\n`));
    const rows = await rowsOf(database.url, `SELECT audit_event::text AS row FROM audit_event`);
    expect(JSON.stringify(rows)).not.toMatch(/support@/i);
  });
});

describe('encounter and order', () => {
  it('show ids, statuses and amounts without names, and are audited with the patient', async () => {
    const { encounter_id, order_no, patientId: own } = await completedEncounter(harness, partner);
    const encounter = await json(...command('encounter', 'show', String(encounter_id)));
    expect(encounter).toMatchObject({ encounter: encounter_id, status: 'completed', patient: own, order: order_no });
    const order = await json(...command('order', 'show', order_no));
    expect(order).toMatchObject({ order: order_no, status: 'pending', encounter: encounter_id, total: '255.00' });
    expect(order.lines[0]).toMatchObject({ status: 'pending', hold: null, tracking: null });
    expect(JSON.stringify([encounter, order])).not.toMatch(/Jane|Miller/);
    expect(await audited('encounter show')).toEqual([['encounter', String(encounter_id), [own], 'success']]);
    expect(await audited('order show')).toEqual([['order', order_no, [own], 'success']]);
  });

  it('list the encounters and orders that match the filters, newest first, say when there are more, and are audited with their patients', async () => {
    const { patientId: first } = await completedEncounter(harness, partner);
    const { encounter_id, patientId: own } = await newEncounter(harness, partner);
    const newest = { encounter: encounter_id, status: 'pending_review', patient: own };
    expect(await json(...command('encounter', 'list', '--patient-id', own))).toMatchObject([newest]);
    const all = await run(...command('encounter', 'list', '--limit', '1'));
    expect(all.stdout.split('\n')).toEqual([
      expect.stringMatching(/^ENCOUNTER +STATUS/),
      expect.stringMatching(new RegExp(`^${encounter_id} `)),
      '',
    ]);
    expect(all.stderr).toBe('There are more than these 1. See --limit and the filters.\n');
    const pending = await json(...command('order', 'list', '--status', 'pending'));
    expect(pending).toMatchObject([{ status: 'pending', patient: first }, { status: 'pending' }]);
    expect(await json(...command('order', 'list', '--status', 'paid'))).toEqual([]);
    expect(await json(...command('order', 'list', '--patient-id', own))).toEqual([]);
    expect(await audited('encounter list')).toEqual(Array(2).fill(['encounter', null, [own], 'success']));
    const listed = [pending.map((order: { patient: string }) => order.patient), [], [own]];
    expect(await audited('order list')).toEqual(listed.map((ids) => ['order', null, ids, 'success']));
  });

  it('refuse an encounter or order of another tenant', async () => {
    const { encounter_id, order_no } = await completedEncounter(harness, await newPartner(harness));
    expect((await run(...command('encounter', 'show', String(encounter_id)))).code).toBe(1);
    expect((await run(...command('order', 'show', order_no))).code).toBe(1);
  });
});
