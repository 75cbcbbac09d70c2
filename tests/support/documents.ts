import { cast } from './cast.js';
import { operationOf, targetOf } from './contract.js';
import type { Answer } from './http.js';
import type { After, Body, Provocation, Send } from './provoked.js';

/** Provokes the refusals of documents in the sandbox of the contract's examples. */
export function provokedByDocuments(after: After, send: Send): Record<string, Provocation> {
  const withdraw = (): Promise<Answer> => send(operationOf('withdrawDocument'));
  const withBody =
    (body: Body): Provocation =>
    (operation) =>
      send(operation, { body });
  return {
    document_not_found: (operation) =>
      targetOf(operation).includes('/documents/')
        ? send(operation, { query: { documentId: cast.absent } })
        : send(operation, { body: { documentIds: [cast.absent] } }),
    document_patient_mismatch: withBody({ documentIds: [cast.documents.mariaIdCard] }),
    document_withdrawn: after(withdraw, withBody({})),
    'withdrawDocument document_withdrawn': after(withdraw, withBody({ reason: 'illegible' })),
  };
}
