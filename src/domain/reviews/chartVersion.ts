import { createHash } from 'node:crypto';
import { Prisma } from '../../../generated/prisma/client.js';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { changedSince } from '../approvals/coverage.js';
import type { EncounterState } from '../encounters/record.js';
import { findPossibleDuplicates, type Person } from '../patients/possibleDuplicates.js';
import { keysThat } from '../transactions/rows.js';
import type { ReadContext } from '../transactions/transaction.js';

/** A kind of facts that a chart shows, named when it has changed (R-211). */
type ChartPart = NonNullable<Schemas['Problem']['changed']>[number];

/**
 * The parts of a chart's version, in this order (R-211): the count of the patient's facts, the counts of
 * decisions and cancellations, documents, what was ordered and sent, the encounter's treatments, and possible
 * duplicates. None of them depends on the present time: an approval or an encounter that expires does not change the version.
 */
export interface ChartMarks {
  readonly facts: string;
  readonly decisions: string;
  readonly documents: string;
  readonly supplies: string;
  readonly treatments: string;
  readonly duplicates: string;
}

export const chartVersion = (marks: ChartMarks): string =>
  [marks.facts, marks.decisions, marks.documents, marks.supplies, marks.treatments, marks.duplicates].join('.');

/** The condition that a column has the id of an order of the patient, of any clinic. */
export function ordersOfPatient(tenantId: string, patientId: Prisma.Sql): Prisma.Sql {
  const encounters = Prisma.sql`SELECT other.id FROM encounter AS other
    WHERE other.tenant_id = ${tenantId} AND other.patient_id = ${patientId}`;
  return keysThat(Prisma.sql`SELECT "order".id FROM "order"
    WHERE "order".tenant_id = ${tenantId} AND "order".encounter_id ${keysThat(encounters)}`);
}

/** The possible duplicates of a patient, as a chart shows them. */
type PossibleDuplicates = Awaited<ReturnType<typeof findPossibleDuplicates>>;

/**
 * Reads the marks of an encounter's chart; call it in a snapshot, or while the patient is locked.
 * @param possible the patient's possible duplicates, if they are read already
 * @throws Problem encounter_not_found
 */
export async function readMarks(
  context: ReadContext,
  which: Prisma.Sql,
  possible?: PossibleDuplicates,
): Promise<ChartMarks> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const [row] = await db.of(tenantId).rows<Omit<ChartMarks, 'duplicates'> & Person>`
    SELECT client.id, client.last_name AS "lastName", client.phone, client.date_of_birth AS "dateOfBirth",
      client.facts_version::text AS facts,
      (SELECT count(*) FILTER (WHERE other.completed_at IS NOT NULL) || '-' || count(*) FILTER (WHERE other.status = 'cancelled')
        FROM encounter AS other
        WHERE other.tenant_id = ${tenantId} AND other.patient_id = encounter.patient_id) AS decisions,
      (SELECT count(*) || '-' || count(withdrawn_at) FROM document
        WHERE document.tenant_id = ${tenantId} AND document.patient_id = encounter.patient_id) AS documents,
      (SELECT left(md5(coalesce(string_agg(concat_ws(' ', line.id, line.status, nullif(line.hold_reason, 'expired'), line.recalled_at, line.updated_at),
          ' ' ORDER BY line.id), '')), 12)
        FROM order_line AS line WHERE line.tenant_id = ${tenantId} AND line.order_id ${ordersOfPatient(tenantId, Prisma.sql`encounter.patient_id`)}) AS supplies,
      (SELECT left(md5(string_agg(part.product_id || coalesce(part.rx::text, ''), ' ' ORDER BY part.position)), 12)
        FROM encounter_treatment AS part
        WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS treatments
    FROM encounter JOIN client ON client.tenant_id = encounter.tenant_id AND client.id = encounter.patient_id
    WHERE encounter.tenant_id = ${tenantId} AND ${which}`;
  if (!row) throw new Problem('encounter_not_found');
  const { id, lastName, phone, dateOfBirth, ...marks } = row;
  const { patients } = possible ?? (await findPossibleDuplicates(context, { id, lastName, phone, dateOfBirth }));
  // Sort: the order of the duplicates is no part of the version.
  const others = patients.map((one) => [one.id, ...one.denials.map((denial) => denial.id)].join()).sort();
  return { ...marks, duplicates: createHash('sha256').update(others.join(' ')).digest('hex').slice(0, 12) };
}

/** The present version of an encounter's chart. Unless the patient is locked, the chart may change right afterwards. */
export async function presentChartVersion(context: ReadContext, encounterNo: bigint): Promise<string> {
  return chartVersion(await readMarks(context, Prisma.sql`encounter.encounter_no = ${encounterNo}`));
}

/** The parts of a chart that changed since a version of it was read (R-211). @param version as a caller sent it */
export function changedParts(
  version: string,
  marks: ChartMarks,
  { patient }: Pick<EncounterState, 'patient'>,
): ChartPart[] {
  const [facts = '', decisions, documents, supplies, treatments, duplicates] = version.split('.');
  const read = /^\d{1,15}$/.test(facts) ? Number(facts) : -1;
  const differing = [
    ...changedSince(patient.factsChanges, read),
    ...(decisions === marks.decisions ? [] : (['decisions'] as const)),
    ...(documents === marks.documents ? [] : (['documents'] as const)),
    ...(supplies === marks.supplies && treatments === marks.treatments ? [] : (['treatments'] as const)),
    ...(duplicates === marks.duplicates ? [] : (['patient'] as const)),
  ];
  // A made-up facts count, such as one that is too high, shows no changed part. Refuse it, too.
  if (differing.length === 0 && facts !== marks.facts) return ['patient'];
  return [...new Set<ChartPart>(differing)];
}
