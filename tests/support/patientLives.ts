import type { Context } from '../../src/context.js';
import { insertDocument } from '../../src/domain/documents/upload.js';
import { lockPatient } from '../../src/domain/patients/patients.js';
import { inCallerTransaction } from '../../src/domain/transactions/transaction.js';
import { missingFile, patientColumns, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { withoutRequest } from './withoutRequest.js';

// For tests with many patients: calls of the service without HTTP, and rows without dependants.

/** The context of an operation of the tenant's API client, with the clock of the test. */
export async function callerContext(
  { services, domain }: Harness,
  { tenantId }: Pick<Partner, 'tenantId'>,
  now: () => Date,
): Promise<Context> {
  const { id: apiClientId } = await domain.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId } });
  return {
    ...services,
    newId: domain.newId,
    ...withoutRequest,
    caller: {
      tenantId,
      tenantMode: 'live',
      apiClientId,
      clientId: '',
      permissions: new Set(),
      allowedClinicIds: null,
      allowedPharmacyIds: null,
    },
    now,
    realNow: now,
  };
}

/** Inserts a patient without its event; returns its id. */
export async function insertPatientRow({ domain }: Harness, { tenantId }: Partner): Promise<string> {
  const [id, at] = [domain.newId(), domain.now()];
  await domain.db.prisma.patient.createMany({
    data: {
      id,
      tenantId,
      ...patientColumns,
      lastName: id,
      phone: id.replaceAll(/\D/g, ''),
      email: `${id}@example.com`,
      createdAt: at,
      updatedAt: at,
    },
  });
  return id;
}

/** Inserts a document as an upload does, without its file; returns its id. */
export async function insertDocumentRow(context: Context, patientId: string, docType: string): Promise<string> {
  const { id } = await inCallerTransaction(context, async (transaction) => {
    await lockPatient(transaction, transaction.caller.tenantId, patientId);
    const id = transaction.newId();
    return insertDocument(transaction, { id, patientId, ...missingFile, docType: docType as 'lab-results' });
  });
  return id;
}
