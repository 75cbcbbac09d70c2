import { Prisma } from '../../../generated/prisma/client.js';

/** Models with a `tenantId`, from Prisma's data model, so that new models are included. */
const tenantOwned: ReadonlySet<string> = new Set(
  Object.values(Prisma.ModelName).filter((model) => 'tenantId' in Prisma[`${model}ScalarFieldEnum`]),
);

/** The model behind each relation, by names such as `Patient.documents`. */
export type Relations = ReadonlyMap<string, string>;

/** The relations of a client's models. Prisma's types have them, but no public value. */
export function relationsOf(client: object): Relations {
  const { models } = (client as { _runtimeDataModel: DataModel })._runtimeDataModel;
  const relations = Object.entries(models).flatMap(([model, { fields }]) =>
    fields.filter(({ kind }) => kind === 'object').map(({ name, type }) => [`${model}.${name}`, type] as const),
  );
  return new Map(relations);
}

/** The tables with rows of tenants, and the table of tenants. */
export function tenantTablesOf(client: object): ReadonlySet<string> {
  const { models } = (client as { _runtimeDataModel: DataModel })._runtimeDataModel;
  const owned = Object.entries(models).filter(([model]) => model === 'Tenant' || tenantOwned.has(model));
  return new Set(owned.map(([model, { dbName }]) => dbName ?? model));
}

type Field = Readonly<Record<'name' | 'kind' | 'type', string>>;
type Model = { readonly dbName: string | null; readonly fields: readonly Field[] };
type DataModel = { readonly models: Readonly<Record<string, Model>> };

/**
 * Rejects a query on a tenant-owned model that names no tenant in `where` (except {@link learnsTenant}) or in a row to
 * create, and such nested reads. `undefined` is no tenant: for Prisma it means "any". @throws Error naming the query
 */
export function assertTenantNamed(
  model: string | undefined,
  operation: string,
  args: unknown,
  relations: Relations = new Map(),
): void {
  if (model === undefined) return;
  assertNestedTenants(model, args, relations);
  if (!tenantOwned.has(model)) return;
  const { where, data, create } = membersOf(args);
  const creates = operation === 'upsert' ? [create] : operation.startsWith('create') ? [data].flat() : [];
  const named =
    creates.every((row) => isRecord(row) && isTenant(row['tenantId'])) &&
    (operation.startsWith('create') || whereNamesTenant(where) || learnsTenant(model, operation, where));
  if (!named)
    throw new Error(
      `${model}.${operation} names no tenantId as a text or { in }: add it to its where (and create), or to the data of new rows`,
    );
}

/**
 * Rejects a nested read of a tenant-owned model that names no tenant, unless the outer model has one, too: their
 * relation is composite, so that Prisma compares the tenants.
 */
function assertNestedTenants(model: string, args: unknown, relations: Relations): void {
  const { include, select } = membersOf(args);
  for (const [name, nested] of Object.entries({ ...membersOf(include), ...membersOf(select) })) {
    const type = relations.get(`${model}.${name}`);
    if (type === undefined || !nested) continue;
    const isForeign = !tenantOwned.has(model) && tenantOwned.has(type);
    if (isForeign && !whereNamesTenant(membersOf(nested)['where'])) {
      throw new Error(`${model}.${name} names no tenantId as a text or { in }: add it to its where`);
    }
    assertNestedTenants(type, nested, relations);
  }
}

const membersOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

function whereNamesTenant(where: unknown): boolean {
  if (!isRecord(where)) return false;
  if (isTenant(where['tenantId']) || [where['AND']].flat().some(whereNamesTenant)) return true;
  // Compound unique keys have the form { tenantId_id: { tenantId, id } }.
  return Object.entries(where).some(
    ([key, value]) => key.split('_').includes('tenantId') && isRecord(value) && isTenant(value['tenantId']),
  );
}

/** Whether the query finds an API client by its random `client_id`: only then it need not name a tenant. */
function learnsTenant(model: string, operation: string, where: unknown): boolean {
  return (
    model === 'ApiClient' &&
    operation.startsWith('findFirst') &&
    isRecord(where) &&
    typeof where['clientId'] === 'string'
  );
}

/** Whether a condition names a tenant, or a list of them. */
function isTenant(value: unknown): boolean {
  const named = isRecord(value) ? [value['in']].flat() : [value];
  return named.every((one) => typeof one === 'string' && one !== '');
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
