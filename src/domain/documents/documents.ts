import { Prisma, type Document } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Bodies, Input } from '../../contract.js';
import { Problem } from '../../problem.js';
import { ofVisiblePatient, visiblePatients } from '../patients/visibility.js';
import { recordEvent } from '../events/record.js';
import { countDocument } from '../patients/facts.js';
import { lockPatient } from '../patients/patients.js';
import { listCursor, listPage, olderThan, type ListPage } from '../transactions/listCursor.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { CallerContext, ModelContext } from '../transactions/transaction.js';
import { typeOf } from './fileRules.js';
import { linkDocument } from './links.js';

/** The documents of a patient, the newest first. @throws Problem patient_not_found, cursor_invalid */
export async function listPatientDocuments(
  { db: { prisma }, caller }: ModelContext,
  patientId: string,
  { cursor, limit }: Input<'listPatientDocuments'>['query'],
): Promise<ListPage<Document>> {
  const { tenantId } = caller;
  const where = { tenantId, patientId, ...olderThan(cursor) };
  const patient = await prisma.patient.findFirst({
    where: { id: patientId, ...visiblePatients(caller) },
    select: { id: true },
  });
  if (!patient) throw new Problem('patient_not_found');
  const found = await prisma.document.findMany({
    where,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  return listPage(found, limit, ({ id, createdAt }) => listCursor(id, createdAt));
}

/** A document with a new link, which is null for a withdrawn document. @throws Problem document_not_found */
export async function openDocument(context: Context, id: string) {
  const { tenantId } = context.caller;
  const where = { id, tenantId, patient: visiblePatients(context.caller) };
  const document = await context.db.prisma.document.findFirst({ where });
  if (!document) throw new Problem('document_not_found');
  return { document, fileUrl: document.withdrawnAt ? null : await linkDocument(context, document) };
}

/** A document of a patient whom the caller may see. @throws Problem document_not_found */
async function getDocument({ db, caller }: CallerContext, id: string): Promise<Document> {
  const isVisible = Prisma.sql`id = ${id}::uuid AND ${ofVisiblePatient(caller)}`;
  const [document] = await findRows(db, caller.tenantId, 'Document', isVisible);
  if (!document) throw new Problem('document_not_found');
  return document;
}

/**
 * Withdraws a document, which cannot be undone. A second request with the same reason changes nothing.
 * @throws Problem document_not_found; document_withdrawn if it was withdrawn with another reason
 */
export async function withdrawDocument(
  context: CallerContext,
  id: string,
  { reason }: Bodies['WithdrawDocumentRequest'],
): Promise<Document> {
  const { tenantId } = context.caller;
  await lockPatient(context, tenantId, (await getDocument(context, id)).patientId);
  const document = await getDocument(context, id);
  if (document.withdrawnAt) {
    if (document.withdrawalReason === reason) return document;
    throw new Problem('document_withdrawn');
  }
  const now = context.now();
  const withdrawal = { withdrawnAt: now, withdrawalReason: reason, updatedAt: now };
  await updateRows(context.db, tenantId, 'Document', withdrawal, Prisma.sql`id = ${id}::uuid`);
  const withdrawn = { ...document, ...withdrawal };
  await announceDocument(context, withdrawn, 'document.withdrawn');
  return withdrawn;
}

/** Records an event about a document of a locked patient: news, except for the upload of an `id-card`. */
export async function announceDocument(
  context: CallerContext,
  document: Document,
  type: 'document.created' | 'document.withdrawn',
): Promise<void> {
  const { id: documentId, patientId: user_id, tenantId } = document;
  const docType = typeOf(document);
  if (docType !== 'id-card' || type === 'document.withdrawn') await countDocument(context, tenantId, user_id);
  recordEvent(context, { tenantId, clinicId: null }, type, { documentId, user_id, docType });
}
