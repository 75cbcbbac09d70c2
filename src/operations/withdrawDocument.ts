import type { Operation } from './operation.js';
import * as documents from '../domain/documents/documents.js';
import { patientDocumentView } from '../views/documentView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /documents/{documentId}/withdraw: ends the use of a document. */
export const withdrawDocument: Operation<'withdrawDocument'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const document = await documents.withdrawDocument(transaction, path.documentId, body);
    return { status: 200, body: patientDocumentView(document) };
  });
