import type { Document } from '../../../generated/prisma/client.js';
import type { AuditRow, Context, Services } from '../../context.js';
import { emptyRow } from '../audit/recorder.js';

/** Lifetime of a link to a stored document, in seconds. */
const LINK_SECONDS = 900;

/** A signed link. Anyone with it can read the file until it expires; a withdrawal ends it, except in S3. */
export function linkDocument(
  { objects, realNow }: Pick<Context, 'objects' | 'realNow'>,
  file: Pick<Document, 'blobPath' | 'fileName' | 'contentType'>,
): Promise<string> {
  return objects.link(file.blobPath, file, realNow(), LINK_SECONDS);
}

export interface LinkedDocument extends Pick<Document, 'fileName' | 'contentType'> {
  /** Absolute path of the file on this machine. */
  readonly path: string;
}

/** The document of a valid link, unless withdrawn. Audits the access first, without a client. */
export async function openDocumentLink(
  { objects, db, recordAudit, now }: Pick<Services, 'objects' | 'db' | 'recordAudit' | 'now'>,
  link: string,
  request: Pick<AuditRow, 'requestId' | 'ip'>,
): Promise<LinkedDocument | undefined> {
  const file = await objects.openLink?.(link, now());
  if (!file) return undefined;
  const [tenantId = ''] = file.key.split('/');
  const document = await db.prisma.document.findFirst({ where: { tenantId, blobPath: file.key, withdrawnAt: null } });
  if (!document) return undefined;
  const { id: resourceId, patientId, fileName, contentType } = document;
  await recordAudit({
    ...emptyRow,
    ...{ at: now(), tenantId, operationId: 'openDocumentLink', status: 200, outcome: 'success' },
    ...{ resourceType: 'document', resourceId, patientIds: [patientId] },
    ...request,
  });
  return { path: file.path, fileName, contentType };
}
