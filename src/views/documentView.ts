import type { Document } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import { typeOf } from '../domain/documents/fileRules.js';
import type { StoredDocument } from '../domain/documents/upload.js';

export function uploadView(stored: StoredDocument): Schemas['UploadPatientDocumentResponse'] {
  const { document, documentType, fileUrl } = stored;
  return {
    message: 'Document uploaded successfully',
    documentId: document.id,
    fileUrl,
    userDocument: {
      id: document.id,
      user_id: document.patientId,
      clientId: document.patientId,
      // Null, because uploads cannot name a clinic.
      clinicId: null,
      storageProvider: document.storageProvider,
      container: document.container,
      blobPath: document.blobPath,
      fileUrl,
      contentType: document.contentType,
      sizeBytes: document.sizeBytes,
      checksum: document.checksum,
      docType: documentType,
      fileName: document.fileName,
      metadata: { uploadedById: document.uploadedById, originalFilename: document.originalFilename },
      createdAt: document.createdAt.toISOString(),
      updatedAt: document.updatedAt.toISOString(),
    },
  };
}

/** A document without a link. */
export function patientDocumentView(document: Document): Schemas['PatientDocument'] {
  const { id: documentId, patientId: user_id, fileName, contentType, sizeBytes } = document;
  const { withdrawnAt, withdrawalReason: reason } = document;
  const withdrawn = withdrawnAt && reason && { reason, at: withdrawnAt.toISOString() };
  const createdAt = document.createdAt.toISOString();
  return { documentId, user_id, docType: typeOf(document), fileName, contentType, sizeBytes, createdAt, withdrawn };
}
