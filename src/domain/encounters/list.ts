import { Prisma } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { mayUseClinic, ofClinics } from '../access/visibility.js';
import { SHOWN, shownEncounter, shownSize, type ShownEncounter, type ShownRow } from './lookup.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { withinBytes } from '../transactions/pageBytes.js';

export type EncounterFilter = Input<'listEncounters'>['query'];

/**
 * Lists the tenant's encounters, newest first. A client that is limited to clinics sees only their encounters. Every page
 * costs the same, because it starts at the cursor in an index.
 * @throws Problem cursor_invalid
 */
export async function listEncounters(context: ReadContext, filter: EncounterFilter): Promise<ListPage<ShownEncounter>> {
  const page = Prisma.sql`${SHOWN}
    WHERE ${Prisma.join(matching(context, filter), ' AND ')}
    ORDER BY encounter.created_at DESC, encounter.encounter_no DESC LIMIT ${filter.limit + 1}`;
  const order = Prisma.sql`"createdAt" DESC, "encounterNo" DESC`;
  const found = await context.db.of(context.caller.tenantId).rows<ShownRow>(withinBytes(page, order, shownSize));
  const cursorOf = ({ encounterNo, createdAt }: ShownRow): string => listCursor(encounterNo, createdAt);
  const { rows, nextCursor } = listPage(found, filter.limit, cursorOf);
  return { rows: rows.map(shownEncounter), nextCursor };
}

function matching(context: ReadContext, filter: EncounterFilter): Prisma.Sql[] {
  const { tenantId, allowedClinicIds } = context.caller;
  const { status, patientId, clinicId, reference, created_after, cursor } = filter;
  const clinics = clinicId === undefined ? allowedClinicIds : [clinicId].filter((id) => mayUseClinic(context, id));
  return [
    Prisma.sql`encounter.tenant_id = ${tenantId}`,
    ...(status === undefined ? [] : [Prisma.sql`encounter.status = ${status}::encounter_status`]),
    ...(patientId === undefined ? [] : [Prisma.sql`encounter.patient_id = ${patientId}::uuid`]),
    ...(reference === undefined ? [] : [Prisma.sql`encounter.reference = ${reference}`]),
    ...(clinics === null ? [] : [ofClinics(Prisma.sql`encounter.clinic_id`, clinics)]),
    ...(created_after === undefined ? [] : [Prisma.sql`encounter.created_at > ${comparableInstant(created_after)}`]),
    ...(cursor === undefined ? [] : [beyond(cursor)]),
  ];
}

/** A row comparison, which lets the index scan start at the cursor. */
function beyond(cursor: string): Prisma.Sql {
  const { createdAt, key } = placeOf(cursor, /^(0|[1-9]\d{0,17})$/);
  return Prisma.sql`(encounter.created_at, encounter.encounter_no) < (${createdAt}, ${BigInt(key)})`;
}
