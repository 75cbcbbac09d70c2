import { Prisma } from '../../../generated/prisma/client.js';

/** Models with a `tenantId`, read from Prisma's data model: a new model cannot be forgotten. */
const tenantOwned: ReadonlySet<string> = new Set(
  Object.values(Prisma.ModelName).filter((model) => 'tenantId' in Prisma[`${model}ScalarFieldEnum`]),
);

/**
 * A programming error, never the caller's: a query on a tenant-owned model must name its tenant, in `where` for what reads,
 * changes or deletes and in every row of `data` for what creates. `undefined` is what it looks for: Prisma takes `{ tenantId: undefined }` for "any tenant".
 * Relations inside a query are bound by their composite keys.
 * @throws Error naming model and operation.
 */
export function assertTenantNamed(model: string | undefined, operation: string, args: unknown): void {
  if (model === undefined || !tenantOwned.has(model)) return;
  const { where, data, create } = isRecord(args) ? args : {};
  const creates = operation === 'upsert' ? [create] : operation.startsWith('create') ? [data].flat() : [];
  const named =
    creates.every((row) => isRecord(row) && isTenant(row['tenantId'])) &&
    (operation.startsWith('create') || whereNamesTenant(where) || learnsTenant(model, operation, where));
  if (!named) throw new Error(`${model}.${operation} names no tenantId`);
}

function whereNamesTenant(where: unknown): boolean {
  if (!isRecord(where)) return false;
  if (isTenant(where['tenantId']) || [where['AND']].flat().some(whereNamesTenant)) return true;
  // A compound unique key is spelled { tenantId_id: { tenantId, id } }.
  return Object.entries(where).some(
    ([key, value]) => key.split('_').includes('tenantId') && isRecord(value) && isTenant(value['tenantId']),
  );
}

/** The one way to learn a tenant: the machine caller's own record, by its globally unique `client_id`. */
function learnsTenant(model: string, operation: string, where: unknown): boolean {
  return model === 'ApiClient' && operation.startsWith('findUnique') && isRecord(where) && isTenant(where['clientId']);
}

function isTenant(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** Whether its properties may be looked at. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
