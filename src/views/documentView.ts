import type { Schemas } from '../contract.js';
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
      // Requests cannot name a clinic (D-28).
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
