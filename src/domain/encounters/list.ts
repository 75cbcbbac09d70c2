import { Prisma } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { atClinics } from '../access/limits.js';
import { selectShown, shownEncounter, type ShownEncounter, type ShownRow } from './lookup.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';

export type EncounterFilter = Input<'listEncounters'>['query'];

/**
 * Lists the tenant's encounters, newest first. A client that is limited to clinics sees only their encounters.
 * @throws Problem cursor_invalid
 */
export async function listEncounters(context: ReadContext, filter: EncounterFilter): Promise<ListPage<ShownEncounter>> {
  const found = await context.db.of(context.caller.tenantId).rows<ShownRow>(pageBy(context, filter));
  const cursorOf = ({ encounterNo, createdAt }: ShownEncounter): string => listCursor(encounterNo, createdAt);
  return listPage<ShownEncounter>(found.map(shownEncounter), filter.limit, cursorOf);
}

/**
 * The query for a page. Reading starts at the cursor's place in an index. The matches of {@link rangesOf} are sorted
 * instead, because these ranges are mostly short.
 */
function pageBy(context: ReadContext, filter: EncounterFilter): Prisma.Sql {
  const { status: statuses, limit } = filter;
  const { tenantId } = context.caller;
  const tenant = Prisma.sql`encounter.tenant_id = ${tenantId}`;
  const conditions = [tenant, ...matching(context, filter)];
  const newest = (selected: Prisma.Sql, matches: readonly Prisma.Sql[]): Prisma.Sql => Prisma.sql`${selected}
    WHERE ${Prisma.join([...matches], ' AND ')}
    ORDER BY encounter.created_at DESC, encounter.encounter_no DESC LIMIT ${limit + 1}`;
  const ids = Prisma.sql`SELECT encounter.id FROM encounter`;
  const among = (found: Prisma.Sql) =>
    newest(selectShown(tenantId), [tenant, Prisma.sql`encounter.id = ANY (ARRAY(${found}))`]);
  const ranges = rangesOf(filter);
  if (ranges.length > 0) {
    const ofStatus = statuses ? [Prisma.sql`encounter.status = ANY (${statuses}::encounter_status[])`] : [];
    const matches = Prisma.join([...conditions, ...ranges, ...ofStatus], ' AND ');
    // Materialize the matches: otherwise PostgreSQL scans the list in its order, which is slow if few rows match.
    return among(Prisma.sql`WITH matching AS MATERIALIZED (
        SELECT id, created_at, encounter_no FROM encounter WHERE ${matches})
      ${newest(Prisma.sql`SELECT encounter.id FROM matching AS encounter`, [Prisma.sql`true`])}`);
  }
  if (!statuses) return newest(selectShown(tenantId), conditions);
  const ofOne = newest(ids, [...conditions, Prisma.sql`encounter.status = wanted.status`]);
  return among(Prisma.sql`
    SELECT newest.id FROM unnest(${statuses}::encounter_status[]) AS wanted (status), LATERAL (${ofOne}) AS newest`);
}

const startOf = (day: string, daysLater = 0): Date => new Date(Date.parse(day) + daysLater * 86_400_000);

/** The filter's ranges of scheduled and updated times. Each has two bounds: PostgreSQL then expects few rows and uses an index. */
function rangesOf({ scheduled_from: from, scheduled_to: to, updated_after }: EncounterFilter): Prisma.Sql[] {
  const scheduled = Prisma.sql`scheduled_instant(encounter.scheduled_day, encounter.scheduled_at)`;
  const first = from === undefined ? '-infinity' : startOf(from);
  const end = to === undefined ? 'infinity' : startOf(to, 1);
  const isScheduled = Prisma.sql`encounter.scheduled_day IS NOT NULL
    AND ${scheduled} >= ${first}::timestamptz AND ${scheduled} < ${end}::timestamptz`;
  return [
    ...(from === undefined && to === undefined ? [] : [isScheduled]),
    ...(updated_after === undefined
      ? []
      : [Prisma.sql`encounter.updated_at > ${comparableInstant(updated_after)} AND encounter.updated_at < 'infinity'`]),
  ];
}

function matching(context: ReadContext, filter: EncounterFilter): Prisma.Sql[] {
  const { patientId, clinicId, reference, reviewType, created_after, cursor } = filter;
  return [
    ...(patientId === undefined ? [] : [Prisma.sql`encounter.patient_id = ${patientId}::uuid`]),
    ...(reference === undefined ? [] : [Prisma.sql`encounter.reference = ${reference}`]),
    ...(reviewType === undefined ? [] : [Prisma.sql`encounter.review_type = ${reviewType}::review_type`]),
    ...atClinics(context, Prisma.sql`encounter.clinic_id`, clinicId),
    ...(created_after === undefined ? [] : [Prisma.sql`encounter.created_at > ${comparableInstant(created_after)}`]),
    ...(cursor === undefined ? [] : [beyond(cursor)]),
  ];
}

/** The form of an encounter's number in a cursor. */
export const encounterKey = /^(0|[1-9]\d{0,17})$/;

/** The condition for rows after the cursor: a row comparison, so that an index scan can start there. */
function beyond(cursor: string): Prisma.Sql {
  const { createdAt, key } = placeOf(cursor, encounterKey);
  return Prisma.sql`(encounter.created_at, encounter.encounter_no) < (${createdAt}, ${BigInt(key)})`;
}
