import type { Document } from '../../generated/prisma/client.js';
import { isUnavailable } from '../adapters/database.js';
import type { Context } from '../context.js';
import type { Schemas } from '../contract.js';
import { Problem } from '../problem.js';
import { wholeDocument } from './documentContent.js';
import { blobPath, describeFile, documentRules, type DocumentType, type UploadRequest } from './documentFiles.js';

/** Seconds that a link to a stored document works (domain rule "Documents"). */
const LINK_SECONDS = 900;

export interface StoredDocument {
  readonly document: Document;
  readonly documentType: DocumentType;
  /** Signed; whoever has it can read the file until it expires. */
  readonly fileUrl: string;
}

/**
 * Fetches a file, stores it and links it to the patient (interface §4.5). Object first, row second: no row without its
 * object; the object is removed if the row was refused.
 * @throws Problem patient_access_denied before anything is fetched; document_*; dependency_unavailable
 */
export async function uploadDocument(
  context: Context,
  patientId: string,
  documentType: DocumentType,
  body: Schemas['UploadPatientDocumentRequest'],
): Promise<StoredDocument> {
  const patient = await requirePatient(context, patientId);
  const request = { documentType, documentId: context.newId(), url: body.url, fileName: body.fileName };
  const stored = await fetchInto(context, patient, request);
  const document = await insert(context, newRow(context, patient, request, stored));
  const fileUrl = await context.objects.link(stored.key, stored, context.now(), LINK_SECONDS);
  return { document, documentType, fileUrl };
}

/** Unknown and another tenant's patient get the same answer, which is about access, not existence. */
async function requirePatient({ db, caller }: Context, id: string): Promise<string> {
  const { tenantId } = caller;
  const patient = await db.patient.findUnique({ where: { tenantId_id: { tenantId, id } }, select: { id: true } });
  if (!patient) throw new Problem('patient_access_denied');
  return patient.id;
}

/**
 * Everything before the row: fetch, check, scan and store, in one stream. The object store keeps a body only when it
 * ended well, so nothing is there before content and scanner have been judged.
 */
async function fetchInto(context: Context, patientId: string, request: UploadRequest) {
  const { tenantId } = context.caller;
  const { documentType, documentId, url } = request;
  const { maxBytes } = documentRules[documentType];
  const { value, sizeBytes, checksum } = await context.download(url, { maxBytes }, async (file) => {
    const description = describeFile(request, file);
    const key = blobPath({ tenantId, patientId, documentType, documentId, fileName: description.fileName });
    const { contentType } = description;
    await context.objects.put(key, context.scanner.scanned(wholeDocument(contentType, file.body)), contentType);
    return { ...description, key };
  });
  return { ...value, sizeBytes, checksum };
}

/** An object without a row is waste; a row without its object would be a lie. So an unclear outcome keeps the object. */
async function insert(context: Context, row: ReturnType<typeof newRow>): Promise<Document> {
  try {
    return await context.db.document.create({ data: row });
  } catch (error) {
    // A failure to remove must not hide why the row was refused.
    if (!isUnavailable(error)) await context.objects.remove(row.blobPath).catch(() => undefined);
    throw error;
  }
}

function newRow(
  context: Context,
  patientId: string,
  { documentId, documentType }: UploadRequest,
  { key, contentType, fileName, originalFilename, sizeBytes, checksum }: Awaited<ReturnType<typeof fetchInto>>,
) {
  const now = context.now();
  return {
    id: documentId,
    tenantId: context.caller.tenantId,
    patientId,
    docType: documentType,
    storageProvider: context.objects.provider,
    container: context.objects.container,
    blobPath: key,
    contentType,
    sizeBytes,
    checksum,
    fileName,
    originalFilename,
    uploadedById: context.caller.apiClientId,
    createdAt: now,
    updatedAt: now,
  };
}
