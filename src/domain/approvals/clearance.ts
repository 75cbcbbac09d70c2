import { Temporal } from 'temporal-polyfill';
import { Prisma, type Encounter, type EncounterTreatment, type Patient } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { mayUseClinic } from '../access/limits.js';
import { visiblePatient } from '../patients/visibility.js';
import type { ItemIdentity } from '../catalog/itemKey.js';
import { prescription } from '../catalog/prescription.js';
import { ageOn, localDate } from '../transactions/instant.js';
import type { ReadContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import {
  changedSince,
  coverage,
  type Coverage,
  type LatestDecision,
  type PresentFacts,
  type PresentTreatment,
} from './coverage.js';

/** The detail of an error at the id of a record that the tenant does not have, or that the API client may not see. */
export const unknownRecord = 'does not exist in your tenant, or your API client may not see it';

export type AskedTreatment = ItemIdentity & PresentTreatment & { readonly id: string };

/** The decision or open request that gives the answer for a treatment. */
export type Source = Pick<Encounter, 'encounterNo' | 'gfeNo'> & {
  readonly decidedAt: Date | null;
  readonly validUntil: Date | null;
};

/** The answer for one treatment; `source` is null if there is neither a decision nor an open request. */
export interface Clearance {
  readonly treatment: AskedTreatment;
  readonly source: Source | null;
  readonly reason: Coverage;
  /** For `approved`, whether there was news about the patient after the review; else false. */
  readonly factsChanged: boolean;
}

/**
 * Whether the patient may get each treatment at the clinic on a day. Also returns that day.
 * @throws Problem clinic_not_permitted, patient_not_found, clinic_not_found, treatment_not_found; validation_failed for a
 * day in the past
 */
export async function clearances(
  context: ReadContext,
  patientId: string,
  { clinicId, treatmentIds, at: asked }: Input<'getClearances'>['query'],
): Promise<{ readonly day: string; readonly clearances: readonly Clearance[] }> {
  if (!mayUseClinic(context, clinicId)) throw new Problem('clinic_not_permitted');
  const ids = treatmentIds.map(canonicalUuid);
  const who = { patientId: Prisma.sql`${patientId}::uuid`, clinicId: Prisma.sql`${clinicId}::uuid` };
  const known = Prisma.sql`p.id = ANY (${ids}::uuid[]) AND NOT p.is_deleted`;
  const { patient, clinic, treatments } = await subjects(context, who, known);
  if (!patient) throw new Problem('patient_not_found');
  if (!clinic) throw missing('clinic_not_found', [{ parameter: 'clinicId', detail: unknownRecord }]);
  const byId = new Map(treatments.map((treatment) => [treatment.id, treatment]));
  const wanted = ids.flatMap((id) => byId.get(id) ?? []);
  if (wanted.length < ids.length) {
    const unknown = ids.flatMap((id, index) => (byId.has(id) ? [] : [`number ${index + 1} in the list`]));
    throw missing(
      'treatment_not_found',
      unknown.map((place) => ({ parameter: 'treatmentIds', detail: `${place} ${unknownRecord}` })),
    );
  }
  const zone = clinic.timeZone ?? 'UTC';
  const { day, at } = momentOf(asked, zone, context.now());
  const { decided, pending } = await latestDecisions(context, who, ids, at);
  const facts = factsAt(at, patient, clinic);
  const answers = wanted.map((treatment): Clearance => {
    const latest = decided.get(treatment.id) ?? null;
    const open = pending.get(treatment.id) ?? null;
    const reason = coverage(treatment, latest, open !== null, facts, at);
    const source = reason === 'pending' ? open : latest && { ...latest, validUntil: endOf(latest, reason) };
    const factsChanged =
      reason === 'approved' && changedSince(patient.factsChanges, latest?.factsVersion ?? null).length > 0;
    return { treatment, source, reason, factsChanged };
  });
  return { day, clearances: answers };
}

/** When the approval ended, or will end. */
const endOf = ({ validUntil, endedAt }: LatestDecision, reason: Coverage): Date | null =>
  reason === 'revoked' || reason === 'superseded' ? endedAt : validUntil;

/** The facts about patient and clinic at a moment. */
export const factsAt = (at: Date, patient: PresentPatient, clinic: PresentClinic): PresentFacts => ({
  age: ageOn(at, patient.dateOfBirth, clinic.timeZone ?? 'UTC'),
  hasGuardian: patient.hasGuardian,
  isPatientActive: patient.isActive,
  isClinicActive: clinic.isActive,
});

/** The moment for a day: today = now; a later day = its end in the zone. @throws Problem validation_failed */
function momentOf(day: string | undefined, timeZone: string, now: Date): { readonly day: string; readonly at: Date } {
  const today = localDate(now, timeZone);
  if (day === undefined || day === today) return { day: today, at: now };
  if (day < today) {
    const fault = {
      parameter: 'at',
      code: 'range',
      detail: `must be ${today} (today at the clinic, or in UTC if it has no time zone) or later`,
    };
    throw new Problem('validation_failed', undefined, { errors: [fault] });
  }
  const next = Temporal.PlainDate.from(day).add({ days: 1 }).toZonedDateTime(timeZone);
  return { day, at: new Date(next.epochMilliseconds - 1) };
}

export interface PresentPatient {
  readonly dateOfBirth: string;
  readonly hasGuardian: boolean;
  readonly isActive: boolean;
  readonly factsChanges: Patient['factsChanges'];
}

export interface PresentClinic {
  readonly timeZone: string | null;
  readonly isActive: boolean;
}

interface Subjects {
  /** Null if there is no such patient, or the caller may not see the patient. */
  readonly patient: PresentPatient | null;
  readonly clinic: PresentClinic | null;
  readonly treatments: readonly AskedTreatment[];
}

/** The members of a {@link PresentPatient}, for an object in JSON, from a row of `client`. */
export const presentPatient = Prisma.sql`'dateOfBirth', client.date_of_birth,
  'hasGuardian', client.guardian IS NOT NULL, 'isActive', client.account_is_active, 'factsChanges', client.facts_changes`;

/** A row of `clinic`, and its primary location `place`, as {@link PresentClinic}, as JSON. */
export const presentClinic = Prisma.sql`json_build_object('timeZone', place.timezone, 'isActive', clinic.is_active)`;

/** The members of an {@link AskedTreatment}, for an object in JSON, from a row `p` of `product` and its category `c`. */
export const presentTreatment = (tenantId: string): Prisma.Sql => Prisma.sql`'id', p.id,
  'categoryId', p.category_id, 'subcategoryId', p.subcategory_id, 'isActive', p.is_active AND NOT p.is_deleted,
  'synchronousOnly', p.synchronous_only OR c.synchronous_only,
  'minAge', coalesce(p.min_age, c.min_age, (SELECT minimum_age FROM tenant WHERE id = ${tenantId})),
  'rx', (SELECT ${prescription} FROM product_rx AS rx WHERE rx.tenant_id = ${tenantId} AND rx.product_id = p.id)`;

/** A patient at a clinic, by ids in SQL. */
type PatientAtClinic = Readonly<Record<'patientId' | 'clinicId', Prisma.Sql>>;

/** Reads patient, clinic and treatments as they are today. @param among a condition on `product AS p` */
export async function subjects(
  { db, caller }: Pick<ReadContext, 'db' | 'caller'>,
  { patientId, clinicId }: PatientAtClinic,
  among: Prisma.Sql,
): Promise<Subjects> {
  const { tenantId } = caller;
  return db.of(tenantId).row<Subjects>`
    SELECT
      (SELECT json_build_object(${presentPatient}) FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}
          AND ${visiblePatient(caller, 'client')}) AS patient,
      (SELECT ${presentClinic} FROM clinic LEFT JOIN clinic_location AS place
          ON place.tenant_id = clinic.tenant_id AND place.clinic_id = clinic.id AND place.is_primary
        WHERE clinic.tenant_id = ${tenantId} AND clinic.id = ${clinicId}) AS clinic,
      (SELECT coalesce(json_agg(json_build_object(${presentTreatment(tenantId)})), '[]')
        FROM product AS p JOIN category AS c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
        WHERE p.tenant_id = ${tenantId} AND ${among}) AS treatments`;
}

type OfTreatment = Pick<EncounterTreatment, 'productId'>;
type DecidedRow = LatestDecision & Source & OfTreatment & Pick<Encounter, 'factsVersion'>;

/**
 * For each treatment, the latest decision about it for the patient at the clinic, and the latest encounter that asks
 * for it and is open at `at`. Each is found by an index, so that a long history does not slow this down.
 */
export async function latestDecisions(
  { db, caller }: Pick<ReadContext, 'db' | 'caller'>,
  { patientId, clinicId }: PatientAtClinic,
  treatmentIds: readonly string[],
  at: Date,
): Promise<{ readonly decided: ReadonlyMap<string, DecidedRow>; readonly pending: ReadonlyMap<string, Source> }> {
  const { tenantId } = caller;
  const ofTreatment = Prisma.sql`one.tenant_id = ${tenantId} AND one.patient_id = ${patientId}
    AND one.clinic_id = ${clinicId} AND one.product_id = wanted.id`;
  const wanted = Prisma.sql`unnest(${[...treatmentIds]}::uuid[]) AS wanted (id)`;
  const [decided, pending] = await Promise.all([
    db.of(tenantId).rows<DecidedRow>`
      SELECT latest.* FROM ${wanted}, LATERAL (
        SELECT one.product_id AS "productId", one.decision, one.ended_at AS "endedAt", one.end_reason AS "endReason",
          one.rx, one.decided_at AS "decidedAt", one.valid_until AS "validUntil", encounter.review_type AS "reviewType",
          encounter.facts_version AS "factsVersion", encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo"
        FROM encounter_treatment AS one
          JOIN encounter ON encounter.tenant_id = one.tenant_id AND encounter.id = one.encounter_id
        WHERE ${ofTreatment} AND one.decided_at IS NOT NULL
        ORDER BY one.decided_at DESC, encounter.encounter_no DESC LIMIT 1) AS latest`,
    db.of(tenantId).rows<Source & OfTreatment>`
      SELECT latest.* FROM ${wanted}, LATERAL (
        SELECT one.product_id AS "productId", NULL::timestamptz AS "decidedAt", NULL::timestamptz AS "validUntil",
          encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo"
        FROM encounter_treatment AS one
          JOIN encounter ON encounter.tenant_id = one.tenant_id AND encounter.id = one.encounter_id
        WHERE ${ofTreatment} AND encounter.phase = 'open'
          AND (encounter.status = 'in_review' OR encounter.expires_at > ${at})
        ORDER BY encounter.encounter_no DESC LIMIT 1) AS latest`,
  ]);
  const byTreatment = <Row extends OfTreatment>(rows: readonly Row[]) =>
    new Map(rows.map((row) => [row.productId, row]));
  return { decided: byTreatment(decided), pending: byTreatment(pending) };
}

function missing(
  code: 'clinic_not_found' | 'treatment_not_found',
  faults: readonly Pick<Required<FieldError>, 'parameter' | 'detail'>[],
): Problem {
  return new Problem(code, undefined, { errors: faults.map((fault) => ({ ...fault, code })) });
}
