import { Prisma } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { mayUseClinic, ofClinics } from '../access/visibility.js';
import { SHOWN, shownEncounter, shownSize, type ShownEncounter, type ShownRow } from './lookup.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { withinBytes } from '../transactions/pageBytes.js';

export type EncounterFilter = Input<'listEncounters'>['query'];

/** If a range of times matches up to so many rows, the list is read from the index of the range. */
const FEW = 1_000;

/**
 * Lists the tenant's encounters, newest first. A client that is limited to clinics sees only their encounters. Every
 * page costs the same, because reading starts at the cursor's place in an index.
 * @throws Problem cursor_invalid
 */
export async function listEncounters(context: ReadContext, filter: EncounterFilter): Promise<ListPage<ShownEncounter>> {
  const order = Prisma.sql`"createdAt" DESC, "encounterNo" DESC`;
  const page = withinBytes(pageBy(context, filter), order, shownSize);
  const found = await context.db.of(context.caller.tenantId).rows<ShownRow>(page);
  const cursorOf = ({ encounterNo, createdAt }: ShownRow): string => listCursor(encounterNo, createdAt);
  const { rows, nextCursor } = listPage(found, filter.limit, cursorOf);
  return { rows: rows.map(shownEncounter), nextCursor };
}

/** The query for a page. For a range of times, or several statuses, no index has the order of the list. */
function pageBy(context: ReadContext, filter: EncounterFilter): Prisma.Sql {
  const tenant = Prisma.sql`encounter.tenant_id = ${context.caller.tenantId}`;
  const others = [tenant, ...matching(context, filter)];
  const { status, statuses = status === undefined ? [] : [status], limit } = filter;
  const newest = (select: Prisma.Sql, conditions: Prisma.Sql[]): Prisma.Sql => Prisma.sql`${select}
    WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY encounter.created_at DESC, encounter.encounter_no DESC LIMIT ${limit + 1}`;
  const range = rangeOf(filter);
  if (range) {
    const all = [...others, range.within, ...(statuses.length === 0 ? [] : [ofStatus(statuses)])];
    return Prisma.sql`
      WITH few AS MATERIALIZED (SELECT id FROM encounter
        WHERE ${tenant} AND ${range.within} ORDER BY ${range.column} DESC LIMIT ${Prisma.raw(String(FEW + 1))})
      (${newest(SHOWN, [...all, Prisma.sql`encounter.id = ANY (ARRAY(SELECT id FROM few))`, fewer(true)])})
      UNION ALL (${newest(SHOWN, [...all, fewer(false)])})`;
  }
  if (statuses.length <= 1) return newest(SHOWN, [...others, ...statuses.map((one) => ofStatus([one]))]);
  const ofOne = newest(Prisma.sql`SELECT encounter.id FROM encounter`, [
    ...others,
    Prisma.sql`encounter.status = wanted.status`,
  ]);
  const ids = Prisma.sql`SELECT newest.id FROM unnest(${statuses}::encounter_status[]) AS wanted (status), LATERAL (${ofOne}) AS newest`;
  return newest(SHOWN, [tenant, Prisma.sql`encounter.id = ANY (ARRAY(${ids}))`]);
}

const fewer = (isFew: boolean): Prisma.Sql =>
  Prisma.sql`(SELECT count(*) <= ${Prisma.raw(String(FEW))} FROM few) = ${Prisma.raw(String(isFew))}`;

function ofStatus([one, ...others]: NonNullable<EncounterFilter['statuses']>): Prisma.Sql {
  if (others.length === 0) return Prisma.sql`encounter.status = ${one}::encounter_status`;
  return Prisma.sql`encounter.status = ANY (${[one, ...others]}::encounter_status[])`;
}

const startOf = (day: string, daysLater = 0): Date => new Date(Date.parse(day) + daysLater * 86_400_000);

/** The ranges of times in the filter, and the column of the range that is read first. */
function rangeOf({ scheduled_from, scheduled_to, updated_after }: EncounterFilter) {
  const scheduled = Prisma.sql`scheduled_instant(encounter.scheduled_day, encounter.scheduled_at)`;
  const updated = Prisma.sql`encounter.updated_at`;
  const bounds = [
    ...(scheduled_from === undefined ? [] : [Prisma.sql`${scheduled} >= ${startOf(scheduled_from)}`]),
    ...(scheduled_to === undefined ? [] : [Prisma.sql`${scheduled} < ${startOf(scheduled_to, 1)}`]),
  ];
  const isScheduled = bounds.length > 0;
  if (isScheduled) bounds.push(Prisma.sql`encounter.scheduled_day IS NOT NULL`);
  if (updated_after !== undefined) bounds.push(Prisma.sql`${updated} > ${comparableInstant(updated_after)}`);
  if (bounds.length === 0) return undefined;
  return { column: isScheduled ? scheduled : updated, within: Prisma.join(bounds, ' AND ') };
}

function matching(context: ReadContext, filter: EncounterFilter): Prisma.Sql[] {
  const { patientId, clinicId, reference, reviewType, created_after, cursor } = filter;
  const { allowedClinicIds } = context.caller;
  const clinics = clinicId === undefined ? allowedClinicIds : [clinicId].filter((id) => mayUseClinic(context, id));
  return [
    ...(patientId === undefined ? [] : [Prisma.sql`encounter.patient_id = ${patientId}::uuid`]),
    ...(reference === undefined ? [] : [Prisma.sql`encounter.reference = ${reference}`]),
    ...(reviewType === undefined ? [] : [Prisma.sql`encounter.review_type = ${reviewType}::review_type`]),
    ...(clinics === null ? [] : [ofClinics(Prisma.sql`encounter.clinic_id`, clinics)]),
    ...(created_after === undefined ? [] : [Prisma.sql`encounter.created_at > ${comparableInstant(created_after)}`]),
    ...(cursor === undefined ? [] : [beyond(cursor)]),
  ];
}

/** The condition for rows after the cursor: a row comparison, so that an index scan can start there. */
function beyond(cursor: string): Prisma.Sql {
  const { createdAt, key } = placeOf(cursor, /^(0|[1-9]\d{0,17})$/);
  return Prisma.sql`(encounter.created_at, encounter.encounter_no) < (${createdAt}, ${BigInt(key)})`;
}
