import { Temporal } from 'temporal-polyfill';
import type { Encounter, GfeItem } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { mayUseClinic, visiblePatient } from '../access/visibility.js';
import { itemKey, type ItemIdentity } from '../catalog/itemKey.js';
import type { JsonOf } from '../transactions/bulkSql.js';
import { localDate } from '../transactions/instant.js';
import type { ReadContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { approvalEnd } from './approvals.js';
import { isInForce, statusAt } from './inForce.js';

/** A patient's request for an item at the clinic, with the provider's decision if there is one. */
type Fact = Pick<
  GfeItem,
  'status' | 'validUntil' | 'decidedAt' | 'declinedTreatmentIds' | 'reviewOften' | 'reviewRecurring'
> &
  Pick<Encounter, 'gfeNo'> &
  ItemIdentity & {
    readonly encounterNo: number;
    readonly factsVersion: number | null;
    readonly requestedAt: Date;
    /** When the encounter ended without a review; null if it did not. */
    readonly closedAt: Date | null;
  };

type ClearedTreatment = ItemIdentity & { readonly id: string };

/** The answer for one treatment; `fact` is null if the patient never requested the treatment at the clinic. */
export interface Clearance {
  readonly treatment: ClearedTreatment;
  readonly fact: Fact | null;
  readonly reason: ReturnType<typeof reasonOf>;
  /** Whether new facts about the patient were recorded after the approval. */
  readonly factsChanged: boolean;
}

/** The moment `at` for which an answer holds, and the moment up to which facts are taken into account. */
interface Moment {
  readonly knownAt: Date;
  readonly at: Date;
}

/**
 * Whether the patient may get each treatment at the clinic on a day. Also returns that day.
 * @throws Problem clinic_not_permitted, patient_not_found, clinic_not_found, treatment_not_found
 */
export async function clearances(
  context: ReadContext,
  patientId: string,
  { clinicId, treatmentIds, at: day }: Input<'getClearances'>['query'],
): Promise<{ readonly day: string; readonly clearances: readonly Clearance[] }> {
  if (!mayUseClinic(context, clinicId)) throw new Problem('clinic_not_permitted');
  const ids = treatmentIds.map(canonicalUuid);
  const { factsVersion, clinic, treatments, facts } = await load(context, patientId, clinicId, ids);
  if (factsVersion === null) throw new Problem('patient_not_found');
  if (!clinic) throw missing('clinic_not_found', [{ parameter: 'clinicId', detail: 'does not exist in your tenant' }]);
  const byId = new Map(treatments.map((treatment) => [treatment.id, treatment]));
  const wanted = ids.flatMap((id) => byId.get(id) ?? []);
  if (wanted.length < ids.length) {
    const unknown = ids.flatMap((id, index) => (byId.has(id) ? [] : [`element ${index + 1}`]));
    throw missing(
      'treatment_not_found',
      unknown.map((element) => ({ parameter: 'treatmentIds', detail: `${element} does not exist in your tenant` })),
    );
  }
  const moment = momentOf(day, clinic.timeZone ?? 'UTC', context.now());
  const known = facts.flatMap((fact) => asKnown(factOf(fact), moment.knownAt)).sort(latestFirst);
  return {
    day: moment.day,
    clearances: wanted.map((treatment) => {
      const own = known.filter((fact) => itemKey(fact) === itemKey(treatment));
      return clearance(treatment, own, moment.at, factsVersion);
    }),
  };
}

/**
 * Chooses the fact that answers: the approval in force that ends last; otherwise the latest fact. A later
 * exception of the treatment excludes earlier approvals.
 */
function clearance(treatment: ClearedTreatment, latest: readonly Fact[], at: Date, factsVersion: number): Clearance {
  const excepted = latest.findIndex((fact) => isDeclined(fact, treatment));
  const candidates = excepted < 0 ? latest : latest.slice(0, excepted);
  const approval = candidates
    .filter((fact) => isInForce(fact, at, treatment.id))
    .reduce<Fact | null>((last, fact) => (last && endOf(last) >= endOf(fact) ? last : fact), null);
  const fact = approval ?? latest[0];
  if (!fact) return { treatment, fact: null, reason: 'never_requested', factsChanged: false };
  const factsChanged = approval !== null && approval.factsVersion !== factsVersion;
  return { treatment, fact, reason: reasonOf(fact, treatment, at), factsChanged };
}

const endOf = ({ validUntil }: Fact): number => validUntil?.getTime() ?? Infinity;

const isDeclined = ({ declinedTreatmentIds }: Fact, { id }: ClearedTreatment): boolean =>
  declinedTreatmentIds.includes(id);

/** The reason for each status of an item. A request that ended without a review counts as never made. */
const reasons = {
  pending_review: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  revoked: 'revoked',
  superseded: 'superseded',
  cancelled: 'never_requested',
} as const satisfies Record<GfeItem['status'], string>;

const reasonOf = (fact: Fact, treatment: ClearedTreatment, at: Date) =>
  isDeclined(fact, treatment) ? 'declined' : reasons[statusAt(fact, at)];

/** When a fact counts: from the decision on, or without one, from the creation of the request. */
const timeOf = ({ decidedAt, requestedAt }: Fact): number => (decidedAt ?? requestedAt).getTime();

const latestFirst = (one: Fact, other: Fact): number =>
  timeOf(other) - timeOf(one) || other.encounterNo - one.encounterNo;

const undecided = { status: 'pending_review', decidedAt: null, validUntil: null, declinedTreatmentIds: [] } as const;

/** A fact as known at that time; none before its request, and after the encounter ended without a review. */
function asKnown(fact: Fact, knownAt: Date): Fact[] {
  const { requestedAt, decidedAt, closedAt, status, validUntil } = fact;
  if (requestedAt > knownAt || (closedAt !== null && closedAt <= knownAt)) return [];
  if (decidedAt === null || decidedAt > knownAt) {
    return [Object.assign(fact, undecided)];
  }
  const isEnded = status === 'revoked' || status === 'superseded';
  // Undo a later revocation or denial, which replaced the end that the category's rule had given the approval.
  if (isEnded && validUntil !== null && validUntil > knownAt) {
    return [Object.assign(fact, { status: 'approved' as const, validUntil: approvalEnd(fact, decidedAt) })];
  }
  return [fact];
}

/** The moment for a day: today = now; another day = its end in the zone, with the facts known by then. */
function momentOf(day: string | undefined, timeZone: string, now: Date): Moment & { readonly day: string } {
  const today = localDate(now, timeZone);
  if (day === undefined || day === today) return { day: today, at: now, knownAt: now };
  const next = Temporal.PlainDate.from(day).add({ days: 1 }).toZonedDateTime(timeZone);
  const at = new Date(next.epochMilliseconds - 1);
  return { day, at, knownAt: at < now ? at : now };
}

interface Row {
  /** Null if there is no such patient, or the caller may not see the patient. */
  readonly factsVersion: number | null;
  readonly clinic: { readonly timeZone: string | null } | null;
  readonly treatments: readonly ClearedTreatment[];
  readonly facts: readonly JsonOf<Fact>[];
}

/** Reads patient, clinic, treatments and facts. */
async function load(
  { db, caller }: ReadContext,
  patientId: string,
  clinicId: string,
  treatmentIds: readonly string[],
): Promise<Row> {
  const { tenantId } = caller;
  const [row] = await db.of(tenantId).rows<Row>`
    WITH treatment AS (
      SELECT id, category_id, subcategory_id FROM product
      WHERE tenant_id = ${tenantId} AND id = ANY (${[...treatmentIds]}::uuid[]) AND NOT is_deleted
    )
    SELECT
      (SELECT facts_version::float8 FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid
        AND ${visiblePatient(caller, 'client')}) AS "factsVersion",
      (SELECT json_build_object('timeZone', place.timezone) FROM clinic LEFT JOIN clinic_location AS place
          ON place.tenant_id = clinic.tenant_id AND place.clinic_id = clinic.id AND place.is_primary
        WHERE clinic.tenant_id = ${tenantId} AND clinic.id = ${clinicId}::uuid) AS clinic,
      (SELECT coalesce(json_agg(json_build_object('id', id, 'categoryId', category_id,
          'subcategoryId', subcategory_id)), '[]') FROM treatment) AS treatments,
      (SELECT coalesce(json_agg(json_build_object('categoryId', item.category_id, 'subcategoryId', item.subcategory_id,
          'status', item.status, 'validUntil', item.valid_until, 'decidedAt', item.decided_at,
          'declinedTreatmentIds', item.declined_treatment_ids, 'reviewOften', item.review_often,
          'reviewRecurring', item.review_recurring, 'factsVersion', item.facts_version,
          'encounterNo', encounter.encounter_no, 'gfeNo', encounter.gfe_no, 'requestedAt', encounter.created_at,
          'closedAt', CASE WHEN encounter.status = 'cancelled' THEN encounter.cancelled_at
            WHEN encounter.status IN ('pending_review', 'awaiting_information', 'expired') THEN encounter.expires_at END)), '[]')
        FROM encounter JOIN gfe_item AS item ON item.tenant_id = encounter.tenant_id AND item.encounter_id = encounter.id
        WHERE encounter.tenant_id = ${tenantId} AND encounter.patient_id = ${patientId}::uuid
          AND encounter.clinic_id = ${clinicId}::uuid
          AND (item.category_id, item.subcategory_id) IN (SELECT category_id, subcategory_id FROM treatment)) AS facts`;
  if (!row) throw new Error('a statement returned no row');
  return row;
}

/** Converts the times of a row in place: copies of hundreds of rows would dominate the cost of a request. */
function factOf(row: JsonOf<Fact>): Fact {
  const dateOf = (time: string | null): Date | null => (time === null ? null : new Date(time));
  return Object.assign(row, {
    validUntil: dateOf(row.validUntil),
    decidedAt: dateOf(row.decidedAt),
    closedAt: dateOf(row.closedAt),
    requestedAt: new Date(row.requestedAt),
  });
}

function missing(
  code: 'clinic_not_found' | 'treatment_not_found',
  faults: readonly Pick<Required<FieldError>, 'parameter' | 'detail'>[],
): Problem {
  return new Problem(code, undefined, { errors: faults.map((fault) => ({ ...fault, code })) });
}
