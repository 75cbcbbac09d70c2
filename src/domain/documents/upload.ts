import type { Document } from '../../../generated/prisma/client.js';
import { UnknownOutcome } from '../../adapters/database/databaseErrors.js';
import type { Context } from '../../context.js';
import type { Bodies } from '../../contract.js';
import { Problem } from '../../problem.js';
import { blobPath, describeFile, documentRules, type DocumentType, type UploadRequest } from './fileRules.js';
import { announceDocument } from './documents.js';
import { linkDocument } from './links.js';
import { visiblePatient } from '../patients/visibility.js';
import { lockPatient } from '../patients/patients.js';
import type { CallerContext, ReadContext } from '../transactions/transaction.js';
import { fieldsOf, tenantInsertion } from '../transactions/bulkSql.js';

interface FileContext {
  readonly caller: Pick<Context['caller'], 'tenantId'>;
  readonly download: Context['download'];
  readonly objects: Pick<Context['objects'], 'provider' | 'container' | 'put'>;
  readonly scanner: Pick<Context['scanner'], 'scanned'>;
}

/** A file that is already in the store, while its row is not yet inserted. */
export type StoredFile = Omit<
  Document,
  'tenantId' | 'uploadedById' | 'createdAt' | 'updatedAt' | 'withdrawnAt' | 'withdrawalReason'
> & {
  readonly docType: DocumentType;
};

export interface StoredDocument {
  readonly document: Document;
  readonly documentType: DocumentType;
  /** A signed link, made by {@link linkDocument}. */
  readonly fileUrl: string;
}

/**
 * Fetches and stores a file, and inserts its row; removes the object if the row is surely missing.
 * @param commit runs the insertion in a transaction, unless an earlier duplicate of the request has done so
 * @throws Problem patient_access_denied, checked before the fetch and again after it; document_*; dependency_unavailable
 */
export async function uploadDocument<T>(
  context: Context,
  patientId: string,
  documentType: DocumentType,
  body: Bodies['UploadPatientDocumentRequest'],
  commit: (insert: (transaction: CallerContext) => Promise<StoredDocument>) => Promise<T>,
): Promise<T> {
  const patient = await requirePatient(context, patientId);
  const request = { documentType, documentId: context.newId(), url: body.url, fileName: body.fileName };
  const file = await context.withoutSlot(() => storeFile(context, patient, request));
  const fileUrl = await linkDocument(context, file);
  return keptIfInserted(context, file.blobPath, (inserted) =>
    commit(async (transaction) => {
      // A reset of the sandbox may have deleted the patient during the fetch.
      await requirePatient(transaction, patient);
      await lockPatient(transaction, context.caller.tenantId, patient);
      const document = await insertDocument(transaction, file);
      inserted();
      return { document, documentType, fileUrl };
    }),
  );
}

/** Answers unknown, invisible and other tenants' patients with one problem, which does not reveal who exists (R-61). */
async function requirePatient({ db, caller }: ReadContext, id: string): Promise<string> {
  const [patient] = await db.of(caller.tenantId).rows<{ id: string }>`
    SELECT id FROM client WHERE tenant_id = ${caller.tenantId} AND id = ${id}::uuid
      AND ${visiblePatient(caller, 'client')}`;
  if (!patient) throw new Problem('patient_access_denied');
  return patient.id;
}

/** Fetches, checks, scans and stores a file in one stream. The store keeps nothing of a file that is refused. */
export async function storeFile(
  { caller, download, objects, scanner }: FileContext,
  patientId: string,
  request: UploadRequest,
): Promise<StoredFile> {
  const { documentType, documentId, url } = request;
  const { maxBytes } = documentRules[documentType];
  const { value, sizeBytes, checksum } = await download(url, { maxBytes }, async (file) => {
    const description = describeFile(request, file);
    const { contentType } = description;
    const key = blobPath({ tenantId: caller.tenantId, patientId, documentType, documentId });
    await objects.put(key, scanner.scanned(file.body), contentType);
    return { ...description, blobPath: key };
  });
  const { provider: storageProvider, container } = objects;
  const of = { id: documentId, patientId, docType: documentType };
  return { ...of, storageProvider, container, ...value, sizeBytes, checksum };
}

/**
 * Removes the object unless `work` inserts the row and commits. If the outcome of `work` is unknown, keeps the object,
 * because a row without an object does more harm than an object without a row.
 */
async function keptIfInserted<T>(
  { objects }: Context,
  key: string,
  work: (inserted: () => void) => Promise<T>,
): Promise<T> {
  const row = { isWritten: false };
  // A failed removal must not hide the original error.
  const remove = (): Promise<void> => objects.remove(key).catch(() => undefined);
  try {
    const result = await work(() => {
      row.isWritten = true;
    });
    if (!row.isWritten) await remove();
    return result;
  } catch (error) {
    if (!(error instanceof UnknownOutcome)) await remove();
    throw error;
  }
}

/** Inserts the row of a stored file, whose patient the transaction has locked. */
export async function insertDocument(context: CallerContext, file: StoredFile): Promise<Document> {
  const { tenantId, apiClientId: uploadedById } = context.caller;
  const now = context.now();
  const row = { ...file, uploadedById, createdAt: now, updatedAt: now };
  const document = await context.db.of(tenantId).row<Document>`
    ${tenantInsertion(tenantId, 'document', [row])} RETURNING ${fieldsOf('Document', 'document')}`;
  await announceDocument(context, document, 'document.created');
  return document;
}
