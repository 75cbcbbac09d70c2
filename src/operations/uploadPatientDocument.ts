import type { Operation } from './operation.js';
import { uploadDocument } from '../domain/documents/upload.js';
import { uploadView } from '../views/documentView.js';
import { earlierResponse, withIdempotency } from './withIdempotency.js';

/** POST /clients-documents/{id}/upload-url/{documentType}: responds after the file is stored. */
export const uploadPatientDocument: Operation<'uploadPatientDocument'> = async ({ path, body }, context) =>
  (await earlierResponse(context)) ??
  uploadDocument(context, path.id, path.documentType, body, (insert) =>
    withIdempotency(context, async (transaction) => ({ status: 200, body: uploadView(await insert(transaction)) })),
  );
