import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { EncounterState } from '../../contract.js';
import { Problem } from '../../problem.js';
import { mayUseClinic } from '../catalog/clinics.js';
import { SHOWN, shownEncounter, type ShownEncounter, type ShownRow } from './lookup.js';
import { comparableInstant } from '../values/instant.js';

export interface EncounterFilter {
  /** As it is stored. */
  readonly status?: EncounterState;
  readonly patientId?: string;
  readonly clinicId?: string;
  /** RFC 3339; only encounters of later moments. */
  readonly created_after?: string;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
  readonly limit: number;
}

export interface EncounterPage {
  readonly encounters: ShownEncounter[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** A place in the order of the list. */
type Position = Pick<ShownEncounter, 'createdAt' | 'encounterNo'>;

/**
 * The tenant's encounters, the newest first; a client that is limited to clinics sees theirs only. A page costs what is
 * on it, however far back it is: it begins at the cursor in an index.
 * @throws Problem cursor_invalid
 */
export async function listEncounters(context: Context, filter: EncounterFilter): Promise<EncounterPage> {
  const rows = await context.db.rows<ShownRow>(Prisma.sql`${SHOWN}
    WHERE ${Prisma.join(matching(context, filter), ' AND ')}
    ORDER BY encounter.created_at DESC, encounter.encounter_no DESC LIMIT ${filter.limit + 1}`);
  const encounters = rows.slice(0, filter.limit).map(shownEncounter);
  const last = encounters.at(-1);
  return { encounters, nextCursor: last && rows.length > encounters.length ? cursorOf(last) : null };
}

function matching(context: Context, filter: EncounterFilter): Prisma.Sql[] {
  const { tenantId, allowedClinicIds } = context.caller;
  const { status, patientId, clinicId, created_after, cursor } = filter;
  const clinics = clinicId === undefined ? allowedClinicIds : [clinicId].filter((id) => mayUseClinic(context, id));
  return [
    Prisma.sql`encounter.tenant_id = ${tenantId}`,
    ...(status === undefined ? [] : [Prisma.sql`encounter.status = ${status}::encounter_status`]),
    ...(patientId === undefined ? [] : [Prisma.sql`encounter.patient_id = ${patientId}::uuid`]),
    ...(clinics === null ? [] : [ofClinics(clinics)]),
    ...(created_after === undefined ? [] : [Prisma.sql`encounter.created_at > ${comparableInstant(created_after)}`]),
    ...(cursor === undefined ? [] : [beyond(positionOf(cursor))]),
  ];
}

/** With one clinic a comparison, so that an index has the order. */
function ofClinics(ids: readonly string[]): Prisma.Sql {
  const clinics = ids.map((id) => Prisma.sql`${id}::uuid`);
  return clinics.length > 0 ? Prisma.sql`encounter.clinic_id IN (${Prisma.join(clinics)})` : Prisma.sql`false`;
}

/** A comparison of rows, so that an index begins at the position. */
function beyond({ createdAt, encounterNo }: Position): Prisma.Sql {
  return Prisma.sql`(encounter.created_at, encounter.encounter_no) < (${createdAt}, ${encounterNo})`;
}

function cursorOf({ createdAt, encounterNo }: Position): string {
  return Buffer.from(`${createdAt.toISOString()} ${encounterNo}`).toString('base64url');
}

/** @throws Problem cursor_invalid unless it is one that {@link cursorOf} made, to the letter */
function positionOf(cursor: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, time = '', number = ''] = /^([\dT:.-]{23}Z) (\d{1,18})$/.exec(text) ?? [];
  const createdAt = new Date(time);
  // Nothing is older than 1970, and PostgreSQL knows no year 0.
  const position = createdAt.getTime() >= 0 ? { createdAt, encounterNo: BigInt(number) } : null;
  if (position && cursorOf(position) === cursor) return position;
  const detail = 'is not a cursor of this list';
  throw new Problem('cursor_invalid', undefined, { errors: [{ parameter: 'cursor', code: 'cursor_invalid', detail }] });
}
