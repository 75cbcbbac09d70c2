import type { Operation } from './operation.js';
import * as documents from '../domain/documents/documents.js';
import { patientDocumentView } from '../views/documentView.js';

/** GET /clients/{id}/documents: all, including withdrawn ones, the newest first. */
export const listPatientDocuments: Operation<'listPatientDocuments'> = async ({ path, query }, context) => {
  const { rows, nextCursor } = await documents.listPatientDocuments(context, path.id, query);
  const data = rows.map(patientDocumentView);
  return { status: 200, body: { data, next_cursor: nextCursor, has_more: nextCursor !== null } };
};
