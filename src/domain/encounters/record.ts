import {
  Prisma,
  type Encounter,
  type EncounterAddendum,
  type EncounterDocument,
  type EncounterInformation,
  type EncounterTreatment,
  type GfeItem,
  type Patient,
} from '../../../generated/prisma/client.js';
import { orderRows } from '../orders/command.js';
import { ordersWhere, type OrderRecord } from '../orders/orders.js';
import { reviewState } from '../providers/licenses.js';
import type { Rows } from '../transactions/changes.js';
import { findRows, groupedBy, keysThat } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

/** An encounter with what was requested, decided and ordered. */
export interface DecidedEncounter extends Encounter {
  readonly treatments: readonly EncounterTreatment[];
  readonly gfeItems: readonly GfeItem[];
  /** The order of the review, then its reorders. */
  readonly orders: readonly OrderRecord[];
}

/** A stored encounter with all of its parts. */
export interface EncounterRecord extends DecidedEncounter {
  readonly documents: readonly EncounterDocument[];
  readonly information: readonly EncounterInformation[];
  readonly addenda: readonly EncounterAddendum[];
}

/** Everything that a command on an encounter decides about, locked until the commit. */
export interface EncounterState {
  readonly encounter: EncounterRecord;
  readonly patient: Patient;
  /** Loaded for a review only: the encounters whose approvals it may end (see {@link loadEarlier}). */
  readonly earlier: readonly DecidedEncounter[];
}

/** The rows of a state, for the writer. */
export function stateRows({ encounter, patient, earlier }: EncounterState): Rows {
  return {
    Patient: [patient],
    EncounterDocument: encounter.documents,
    EncounterInformation: encounter.information,
    EncounterAddendum: encounter.addenda,
    ...decidedRows([encounter, ...earlier]),
  };
}

/** The rows of encounters with their decisions and orders. */
export const decidedRows = (encounters: readonly DecidedEncounter[]): Rows => ({
  Encounter: encounters,
  EncounterTreatment: encounters.flatMap(({ treatments }) => treatments),
  GfeItem: encounters.flatMap(({ gfeItems }) => gfeItems),
  ...orderRows(encounters.flatMap(({ orders }) => orders)),
});

/** A column of an encounter, in SQL. @param which a condition on the encounter, without that on the tenant */
export const columnOf = (tenantId: string, column: 'id' | 'patient_id' | 'clinic_id', which: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(SELECT ${Prisma.raw(column)} FROM encounter WHERE tenant_id = ${tenantId} AND ${which})`;

const LOCK = Prisma.sql`FOR NO KEY UPDATE`;

/**
 * Locks, in this order, the patient, the encounter, its items and its orders until the commit. Reads these and the other
 * parts of the encounter in one round trip. Commands wait for each other; sweeps skip a locked encounter.
 * @param which a condition on the encounter, without that on the tenant
 * @param isPatientLocked false for sweeps, which have locked the encounter already and change nothing of the patient
 * @returns undefined if there is no such encounter
 */
export async function loadEncounter(
  context: TransactionContext,
  tenantId: string,
  which: Prisma.Sql,
  isPatientLocked = true,
): Promise<EncounterState | undefined> {
  const { db } = context;
  const ofEncounter = Prisma.sql`encounter_id = ${columnOf(tenantId, 'id', which)}`;
  const ofPatient = Prisma.sql`id = ${columnOf(tenantId, 'patient_id', which)}`;
  const inOrder = Prisma.sql`${ofEncounter} ORDER BY position`;
  const [[patient], [encounter], gfeItems, orders, treatments, documents, information, addenda] = await Promise.all([
    findRows(db, tenantId, 'Patient', Prisma.sql`${ofPatient} ${isPatientLocked ? LOCK : Prisma.empty}`),
    findRows(db, tenantId, 'Encounter', Prisma.sql`${which} FOR UPDATE`),
    findRows(db, tenantId, 'GfeItem', Prisma.sql`${inOrder} ${LOCK}`),
    ordersWhere(db, tenantId, ofEncounter, LOCK),
    findRows(db, tenantId, 'EncounterTreatment', inOrder),
    findRows(db, tenantId, 'EncounterDocument', inOrder),
    findRows(db, tenantId, 'EncounterInformation', Prisma.sql`${ofEncounter} ORDER BY requested_at, id`),
    findRows(db, tenantId, 'EncounterAddendum', Prisma.sql`${ofEncounter} ORDER BY added_at, id`),
  ]);
  if (!encounter || !patient) return undefined;
  const parts = { treatments, gfeItems, orders, documents, information, addenda };
  return { patient, encounter: { ...parts, ...encounter }, earlier: [] };
}

/** The review state of an encounter as it is now; null if none is known. */
export interface WithReviewState {
  readonly reviewState: string | null;
}

/** Determines the review state again: the patient may have moved since the creation (R-107). */
export async function readReviewState(
  { db }: TransactionContext,
  tenantId: string,
  which: Prisma.Sql,
): Promise<WithReviewState> {
  const [row] = await db.of(tenantId).rows<WithReviewState>`
    SELECT coalesce(patient_state, ${reviewState(tenantId, Prisma.sql`encounter.clinic_id`)}) AS "reviewState"
    FROM encounter JOIN client ON client.tenant_id = encounter.tenant_id AND client.id = encounter.patient_id
    WHERE encounter.tenant_id = ${tenantId} AND ${which}`;
  return { reviewState: row?.reviewState ?? null };
}

/** Updates the review state of a patient's open encounters without `patientState`, for the queue's filter (R-107). */
export async function updateReviewStates({ db, caller }: CallerContext, patientId: string): Promise<void> {
  const { tenantId } = caller;
  await db.of(tenantId).run`
    UPDATE encounter SET review_state = (SELECT ${reviewState(tenantId, Prisma.sql`encounter.clinic_id`)}
      FROM client WHERE client.tenant_id = ${tenantId} AND client.id = encounter.patient_id)
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND phase = 'open' AND patient_state IS NULL`;
}

/**
 * Locks and reads the encounters whose approvals a review of this encounter may end. Send it together with
 * {@link loadEncounter}, whose lock of the patient excludes other commands.
 */
export async function loadEarlier(
  { db }: TransactionContext,
  tenantId: string,
  which: Prisma.Sql,
): Promise<DecidedEncounter[]> {
  const encounter = Prisma.sql`FROM encounter WHERE tenant_id = ${tenantId} AND ${which}`;
  const wanted = Prisma.sql`SELECT product_id FROM encounter_treatment
    WHERE tenant_id = ${tenantId} AND encounter_id = (SELECT id ${encounter})`;
  const found = await db.of(tenantId).rows<{ id: string }>`
    SELECT DISTINCT encounter_id AS id FROM encounter_treatment
    WHERE tenant_id = ${tenantId} AND decision = 'approved' AND ended_at IS NULL
      AND patient_id = (SELECT patient_id ${encounter}) AND clinic_id = (SELECT clinic_id ${encounter})
      AND product_id ${keysThat(wanted)} AND encounter_id <> (SELECT id ${encounter})`;
  return loadDecided(
    db,
    tenantId,
    found.map(({ id }) => id),
  );
}

/** Locks and reads encounters with their decisions and orders, in one round trip. */
export async function loadDecided(
  db: TransactionContext['db'],
  tenantId: string,
  ids: readonly string[],
): Promise<DecidedEncounter[]> {
  if (ids.length === 0) return [];
  const ofEarlier = Prisma.sql`encounter_id = ANY(${[...ids]}::uuid[])`;
  const [encounters, items, orders, treatments] = await Promise.all([
    findRows(db, tenantId, 'Encounter', Prisma.sql`id = ANY(${[...ids]}::uuid[]) ORDER BY encounter_no ${LOCK}`),
    findRows(db, tenantId, 'GfeItem', Prisma.sql`${ofEarlier} ORDER BY position ${LOCK}`),
    ordersWhere(db, tenantId, ofEarlier, LOCK),
    findRows(db, tenantId, 'EncounterTreatment', Prisma.sql`${ofEarlier} ORDER BY position`),
  ]);
  const ownerOf = ({ encounterId }: { readonly encounterId: string }): string => encounterId;
  const itemsOf = groupedBy(items, ownerOf);
  const ordersOf = groupedBy(orders, ownerOf);
  const treatmentsOf = groupedBy(treatments, ownerOf);
  return encounters.map((encounter) => ({
    gfeItems: itemsOf(encounter.id),
    orders: ordersOf(encounter.id),
    treatments: treatmentsOf(encounter.id),
    ...encounter,
  }));
}
