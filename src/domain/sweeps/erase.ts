import { Prisma, type Patient } from '../../../generated/prisma/client.js';
import { findRows, keysThat, updateRows, type RowOf } from '../transactions/rows.js';
import type { TransactionContext } from '../transactions/transaction.js';
import { ERASED, ERASED_DOMAIN } from '../patients/identity.js';
import { unsaid } from '../patients/patients.js';

interface Erasure {
  /** Whether to erase the patient even though the tenant must still keep the records (R-272). */
  readonly beforeRetention?: boolean | undefined;
}

/**
 * Irreversibly anonymizes a patient (R-90): encounters, orders and the audit keep ids, states and amounts; the
 * patient's row gets a pseudonym; documents, texts, contact data and stored responses are removed. Safe to repeat.
 * @returns the object keys of the documents, which the caller must remove because no transaction covers them, and the
 * number of remaining encounters
 * @throws Error if the patient is unknown, has an open encounter or order, or if the records must still be kept
 */
export async function erasePatient(
  transaction: TransactionContext,
  tenantId: string,
  patientId: string,
  { beforeRetention = false }: Erasure = {},
) {
  await lockErasable(transaction, tenantId, patientId);
  if (!beforeRetention) await requireRetentionEnded(transaction, tenantId, patientId);
  return anonymize(transaction, tenantId, patientId);
}

async function anonymize(transaction: TransactionContext, tenantId: string, patientId: string) {
  const { db } = transaction;
  const tenant = db.of(tenantId);
  const ofPatient = Prisma.sql`patient_id = ${patientId}::uuid`;
  const ofEncounters = Prisma.sql`encounter_id ${keysThat(
    Prisma.sql`SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND ${ofPatient}`,
  )}`;
  const ofOrders = Prisma.sql`order_id ${keysThat(
    Prisma.sql`SELECT id FROM "order" WHERE tenant_id = ${tenantId} AND ${ofEncounters}`,
  )}`;
  const change = <Model extends Prisma.ModelName>(model: Model, data: Partial<RowOf<Model>>, where: Prisma.Sql) =>
    updateRows(db, tenantId, model, data, where);
  const documents = await findRows(db, tenantId, 'Document', ofPatient);
  const ids = documents.map(({ id }) => id);
  await tenant.run`DELETE FROM encounter_document WHERE tenant_id = ${tenantId} AND document_id = ANY(${ids}::uuid[])`;
  await tenant.run`DELETE FROM document WHERE tenant_id = ${tenantId} AND ${ofPatient}`;
  await change('GfeItem', { denialReason: ERASED }, Prisma.sql`${ofEncounters} AND denial_reason IS NOT NULL`);
  await change('GfeItem', { revocationReason: ERASED }, Prisma.sql`${ofEncounters} AND revocation_reason IS NOT NULL`);
  await change('GfeItem', { rationale: null }, ofEncounters);
  const texts = { additionalNotes: null, metadata: null, reviewNotes: null, reviewedIdentity: null, shipTo: null };
  const count = await change('Encounter', texts, ofPatient);
  await change('EncounterInformation', { message: ERASED, additionalNotes: null }, ofEncounters);
  await change('EncounterAddendum', { text: ERASED }, ofEncounters);
  // Clear all addresses, even null ones: setShipTo may be storing one now, and this update waits for its lock.
  await change('Order', { shipTo: null }, ofEncounters);
  await change('Order', { cancelReason: ERASED }, Prisma.sql`${ofEncounters} AND cancel_reason IS NOT NULL`);
  await change('Refund', { reason: ERASED }, ofOrders);
  await change('OrderLine', { carrier: null, trackingNumber: null, reason: null }, ofOrders);
  const isPatient = Prisma.sql`id = ${patientId}::uuid`;
  await change('Patient', { ...pseudonym(patientId), updatedAt: transaction.now() }, isPatient);
  // Delete stored responses that name the patient, or its encounters or orders.
  await tenant.run`
    DELETE FROM idempotency_key WHERE tenant_id = ${tenantId} AND (strpos(answer::text, ${patientId}) > 0 OR EXISTS (
      SELECT FROM encounter LEFT JOIN "order" ON "order".tenant_id = encounter.tenant_id AND encounter_id = encounter.id
      WHERE encounter.tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid
        AND (strpos(answer::text, '"' || gfe_no || '"') > 0 OR strpos(answer::text, '"' || order_no || '"') > 0)))`;
  await tenant.run`DELETE FROM sandbox_exchange WHERE tenant_id = ${tenantId}`;
  return { objects: documents.map(({ blobPath }) => blobPath), encounters: count };
}

/** Locks the patient, so that no new encounter or order begins, and checks that none is open. */
async function lockErasable({ db }: TransactionContext, tenantId: string, patientId: string): Promise<void> {
  const [patient] = await db.of(tenantId).rows<object>`
    SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid FOR UPDATE`;
  if (!patient) throw new Error(`The tenant has no patient ${patientId}. Check the user_id and --tenant.`);
  const [open] = await db.of(tenantId).rows<{ name: string }>`
    SELECT gfe_no AS name FROM encounter
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND phase = 'open'
    UNION ALL
    SELECT order_no FROM "order" JOIN encounter ON encounter.tenant_id = "order".tenant_id AND encounter.id = encounter_id
    WHERE "order".tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND order_status = 'pending' LIMIT 1`;
  if (open) throw new Error(`${open.name} is open. Finish or cancel it first. The patient was not erased.`);
}

/** Checks that the tenant's retention has passed since the last decision about the patient (R-272). */
async function requireRetentionEnded({ db, now }: TransactionContext, tenantId: string, patientId: string) {
  const [kept] = await db.of(tenantId).rows<{ years: number; until: string }>`
    SELECT years, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS until
    FROM (
      SELECT record_retention_years AS years, (SELECT max(decided_at) FROM gfe_item WHERE tenant_id = ${tenantId}
        AND encounter_id IN (SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid))
        + make_interval(years => record_retention_years) AS until
      FROM tenant WHERE id = ${tenantId}
    ) AS retention WHERE until > ${now()}`;
  if (!kept) return;
  throw new Error(
    `The records must be kept until ${kept.until}, ${kept.years} years after the last decision. Nothing was erased. To erase them sooner, give --before-retention and --reason.`,
  );
}

/** Values that replace all columns with personal data. The e-mail must be unique, so it contains the id. */
function pseudonym(id: string): Partial<Patient> {
  return {
    firstName: ERASED,
    lastName: ERASED,
    email: `${id}${ERASED_DOMAIN}`,
    dateOfBirth: new Date('1900-01-01'),
    ...unsaid,
    sex: null,
    phone: '0000000',
    countryCode: '1',
    address1: null,
    postal: null,
    metadata: null,
    timezone: null,
    locale: null,
    profileImageBlobPath: null,
    verifierJobId: null,
    verifierResultMessage: null,
    verifierResponsePayload: null,
    commsUserId: null,
    accountIsActive: false,
  };
}
