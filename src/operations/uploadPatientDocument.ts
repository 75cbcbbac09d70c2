import type { Operation } from '../contract.js';
import { uploadDocument } from '../domain/documents.js';
import { uploadView } from '../views/documentView.js';

/** POST /clients-documents/{id}/upload-url/{documentType}: answers when the file is stored. */
export const uploadPatientDocument: Operation<'uploadPatientDocument'> = ({ path, body }, context) =>
  uploadDocument(context, path.id, path.documentType, body, (stored) => ({ status: 200, body: uploadView(stored) }));
