import { Prisma } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { inTransaction, type TransactionContext } from '../transactions/transaction.js';
import { unsaid } from './patients.js';

/** What is left of somebody who was erased; of an item's and an approval's reason, which must not be empty. */
const ERASED = 'erased';

/**
 * Makes a person unknown to the service (R-90): encounters, orders and the audit are kept with ids, states and amounts,
 * the patient's row with a pseudonym; documents, texts, contact data and stored responses are removed. Safe to run again.
 * @returns the keys of the documents' objects, which are left to the caller, because no transaction holds them; and how
 * many encounters are kept without anything about the person
 * @throws Error when the patient is unknown, or has an open encounter or order
 */
export function erasePatient(context: DomainContext, tenantId: string, patientId: string) {
  return inTransaction(context, async (transaction) => {
    await lockErasable(transaction, tenantId, patientId);
    const { db } = transaction;
    const where = { tenantId, patientId };
    const documents = await db.document.findMany({ where, select: { blobPath: true } });
    const ofPatient = { tenantId, encounter: where };
    await db.encounterDocument.deleteMany({ where: { tenantId, document: where } });
    await db.document.deleteMany({ where });
    const isSet = { not: null };
    await db.gfeItem.updateMany({ where: { ...ofPatient, denialReason: isSet }, data: { denialReason: ERASED } });
    await db.gfeItem.updateMany({
      where: { ...ofPatient, revocationReason: isSet },
      data: { revocationReason: ERASED },
    });
    const { count } = await db.encounter.updateMany({ where, data: { additionalNotes: null, reviewNotes: null } });
    await db.encounterInformation.updateMany({ where: ofPatient, data: { message: ERASED, additionalNotes: null } });
    await db.encounterAddendum.updateMany({ where: ofPatient, data: { text: ERASED } });
    const ofOrders = { tenantId, order: ofPatient };
    await db.order.updateMany({ where: { ...ofPatient, cancelReason: isSet }, data: { cancelReason: ERASED } });
    await db.refund.updateMany({ where: ofOrders, data: { reason: ERASED } });
    await db.fulfilment.updateMany({ where: ofOrders, data: { carrier: null, trackingNumber: null, reason: null } });
    await db.patient.update({
      where: { tenantId_id: { tenantId, id: patientId } },
      data: { ...pseudonym(patientId), updatedAt: transaction.now() },
    });
    // Responses to requests about the patient name it, or its encounter or order.
    await db.$executeRaw`
      DELETE FROM idempotency_key WHERE tenant_id = ${tenantId} AND (strpos(answer::text, ${patientId}) > 0 OR EXISTS (
        SELECT FROM encounter LEFT JOIN "order" ON "order".tenant_id = encounter.tenant_id AND encounter_id = encounter.id
        WHERE encounter.tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid
          AND (strpos(answer::text, '"' || gfe_no || '"') > 0 OR strpos(answer::text, '"' || order_no || '"') > 0)))`;
    return { objects: documents.map(({ blobPath }) => blobPath), encounters: count };
  });
}

/** Locks the patient, so that nothing about it begins, and looks whether something is under way. */
async function lockErasable({ db }: TransactionContext, tenantId: string, patientId: string): Promise<void> {
  const [patient] = await db.$queryRaw<object[]>`
    SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid FOR UPDATE`;
  if (!patient) throw new Error(`The tenant has no patient ${patientId}.`);
  const [open] = await db.$queryRaw<{ name: string }[]>`
    SELECT gfe_no AS name FROM encounter
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND phase = 'open'
    UNION ALL
    SELECT order_no FROM "order" JOIN encounter ON encounter.tenant_id = "order".tenant_id AND encounter.id = encounter_id
    WHERE "order".tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND order_status = 'pending' LIMIT 1`;
  if (open) throw new Error(`${open.name} is open: it must be finished or cancelled first. Nothing was erased.`);
}

/** Every column that says something about the person. The e-mail is unique, because the id is. */
function pseudonym(id: string): Prisma.PatientUncheckedUpdateInput {
  return {
    firstName: ERASED,
    lastName: ERASED,
    email: `${id}@${ERASED}.invalid`,
    dateOfBirth: new Date('1900-01-01'),
    ...unsaid,
    sex: null,
    phone: '0000000',
    countryCode: '1',
    address1: null,
    postal: null,
    metadata: Prisma.DbNull,
    timezone: null,
    locale: null,
    profileImageBlobPath: null,
    verifierJobId: null,
    verifierResultMessage: null,
    verifierResponsePayload: Prisma.DbNull,
    commsUserId: null,
    accountIsActive: false,
  };
}
