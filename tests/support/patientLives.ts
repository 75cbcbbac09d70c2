import type { Context } from '../../src/context.js';
import { insertDocument } from '../../src/domain/documents/upload.js';
import { lockPatient } from '../../src/domain/patients/patients.js';
import { inCallerTransaction } from '../../src/domain/transactions/transaction.js';
import { missingFile, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { withoutRequest } from './withoutRequest.js';

// Calls of the service without HTTP.

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

/** Inserts a document as an upload does, without its file; returns its id. */
export async function insertDocumentRow(context: Context, patientId: string, docType: string): Promise<string> {
  const { id } = await inCallerTransaction(context, async (transaction) => {
    await lockPatient(transaction, transaction.caller.tenantId, patientId);
    const id = transaction.newId();
    return insertDocument(transaction, { id, patientId, ...missingFile, docType: docType as 'lab-results' });
  });
  return id;
}
