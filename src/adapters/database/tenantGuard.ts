import { Prisma } from '../../../generated/prisma/client.js';

/** Models with a `tenantId`, from Prisma's data model, so that new models are included. */
const tenantOwned: ReadonlySet<string> = new Set(
  Object.values(Prisma.ModelName).filter((model) => 'tenantId' in Prisma[`${model}ScalarFieldEnum`]),
);

/**
 * Rejects queries on a tenant-owned model that name no tenant in `where`, or in every row of `data`. A tenant of
 * `undefined` is rejected, too: for Prisma it means "any". @throws Error naming model and operation
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
  // Compound unique keys have the form { tenantId_id: { tenantId, id } }.
  return Object.entries(where).some(
    ([key, value]) => key.split('_').includes('tenantId') && isRecord(value) && isTenant(value['tenantId']),
  );
}

/** Whether the query finds an API client by its globally unique `client_id`: only then it need not name a tenant. */
function learnsTenant(model: string, operation: string, where: unknown): boolean {
  return model === 'ApiClient' && operation.startsWith('findUnique') && isRecord(where) && isTenant(where['clientId']);
}

function isTenant(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
