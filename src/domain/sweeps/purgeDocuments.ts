import type { Services } from '../../context.js';
import { inTenants, RETENTION_BATCH, type PurgeContext } from './purges.js';

/** Deletes old documents that no encounter names (R-91). Leaves objects that cannot be removed to the orphans' job. */
export function purgeDocuments(context: PurgeContext & Pick<Services, 'objects'>, days: number): Promise<number> {
  return inTenants(context, async (tenantId) => {
    const removed = await context.db.of(tenantId).rows<{ blobPath: string }>`
      DELETE FROM document WHERE tenant_id = ${tenantId} AND id IN (
        SELECT id FROM document
        WHERE tenant_id = ${tenantId} AND created_at < now() - make_interval(days => ${days}::int)
          AND NOT EXISTS (SELECT FROM encounter_document AS used
            WHERE used.tenant_id = ${tenantId} AND used.document_id = document.id)
        LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED)
      RETURNING blob_path AS "blobPath"`;
    for (const { blobPath } of removed) await context.objects.remove(blobPath).catch(() => undefined);
    return removed.length;
  });
}
