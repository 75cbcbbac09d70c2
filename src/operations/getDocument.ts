import type { Operation } from './operation.js';
import { openDocument } from '../domain/documents/documents.js';
import { patientDocumentView } from '../views/documentView.js';

/** GET /documents/{documentId}: a document with a new link. */
export const getDocument: Operation<'getDocument'> = async ({ path }, context) => {
  const { document, fileUrl } = await openDocument(context, path.documentId);
  return { status: 200, body: { ...patientDocumentView(document), fileUrl } };
};
