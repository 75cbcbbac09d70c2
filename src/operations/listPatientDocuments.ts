import type { Operation } from './operation.js';
import * as documents from '../domain/documents/documents.js';
import { cursorPage } from '../views/cursorPage.js';
import { patientDocumentView } from '../views/documentView.js';

/** GET /clients/{id}/documents: all, including withdrawn ones, the newest first. */
export const listPatientDocuments: Operation<'listPatientDocuments'> = async ({ path, query }, context) => {
  const page = await documents.listPatientDocuments(context, path.id, query);
  return { status: 200, body: cursorPage(page, patientDocumentView) };
};
