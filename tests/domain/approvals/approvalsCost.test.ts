import { copyEncounter } from '../../support/copies.js';
import { newClient, newClinic, newPartner, type Partner } from '../../support/factories.js';
import { call } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { completedEncounter } from '../../support/reviews.js';
import { ownStatementsOf, rowsRead } from '../../support/statements.js';

const { harness, observer } = await openObservedHarness();
/** A tenant with 5,000 approvals of a patient, of which each 50th is of one clinic. */
const partner = await newPartner(harness);
const clinicId = await newClinic(harness, partner);
/** A client of that tenant that is limited to the clinic. */
const limited = await newClient(harness, partner.tenantId, undefined, [clinicId]);
await completedEncounter(harness, partner);
const { id } = await harness.domain.db.prisma.encounter.findFirstOrThrow({ where: { tenantId: partner.tenantId } });
// Without triggers and foreign keys, which would only slow the inserts down.
await observer.query('SET session_replication_role = replica');
await copyEncounter(observer, id, 5_000, {
  clinic_id: `CASE WHEN copy.n % 50 = 0 THEN '${clinicId}' ELSE original.clinic_id END`,
});
await observer.query(`UPDATE gfe_item SET clinic_id = encounter.clinic_id,
  valid_until = valid_until + (encounter.encounter_no % 1000) * interval '1 hour'
  FROM encounter WHERE encounter.id = encounter_id`);
await observer.query('ANALYZE');

it.each<[filter: string, query: () => object, as?: () => Partner]>([
  ['without a filter', () => ({})],
  ['filtered by clinic', () => ({ clinicId })],
  ['for a client that is limited to a clinic', () => ({}), () => limited],
])(
  'listRenewals %s sends one statement, which reads at most 88 rows of encounters, items and treatments for ten approvals',
  async (_filter, query, as = () => partner) => {
    const parameters = new URLSearchParams({ expiring_before: '2100-01-01', limit: '10', ...query() });
    const ask = async (): Promise<string> => {
      const { status, body } = await call(harness, `GET /renewals?${parameters.toString()}`, as());
      expect([status, body.data.length]).toEqual([200, 10]);
      return body.next_cursor;
    };
    parameters.set('cursor', await ask());
    const statements = await ownStatementsOf(ask);
    expect(statements).toHaveLength(1);
    // Eleven approvals (the last tells whether more follow), each with encounter and treatment, and some filtered rows.
    for (const statement of statements) expect(await rowsRead(observer, statement)).toBeLessThanOrEqual(11 * 8);
  },
);

it('getClearances reads at most ten rows of encounters and treatments per statement for a patient with 10,000 decisions', async () => {
  const { id, patientId, clinicId: clinic, treatmentIds } = await completedEncounter(harness, partner);
  await copyEncounter(observer, id, 10_000);
  await observer.query(
    `UPDATE encounter_treatment SET decided_at = decided_at - encounter.encounter_no % 100000 * interval '1 minute'
      FROM encounter WHERE encounter.id = encounter_id AND encounter.patient_id = $1 AND encounter.id <> $2`,
    [patientId, id],
  );
  await observer.query('ANALYZE');
  const query = new URLSearchParams({ clinicId: clinic, treatmentIds });
  const ask = async () => {
    const { body } = await call(harness, `GET /clients/${patientId}/clearances?${query.toString()}`, partner);
    expect(body.data).toMatchObject([{ reason: 'approved' }]);
  };
  await ask();
  for (const statement of await ownStatementsOf(ask)) {
    expect(await rowsRead(observer, statement)).toBeLessThanOrEqual(10);
  }
});
