import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller } from '../../context.js';
import {
  columnOf,
  identifier,
  recordset,
  rowForm,
  tableOf,
  tenantInsertion,
  withParts,
  type RowForm,
} from './bulkSql.js';
import type { TransactionContext } from './transaction.js';
import type { NewEvent, UnitOfWork } from './unitOfWork.js';

/** Rows of a tenant by model: as a command has found them, or as its decision leaves them. New rows are complete. */
export type Rows = { readonly [Model in Prisma.ModelName]?: readonly object[] };

/** An event that a decision emits; it gets its id and time when it is written. */
export type EventDraft = Omit<NewEvent, 'id' | 'timestamp'>;

/** The result of a decision: the state afterwards, with complete rows, and its events in their order. */
export interface Decision<State> {
  readonly state: State;
  readonly events: readonly EventDraft[];
}

/** Makes a second decision on the state that the first leaves. @returns the second state, with the events of both */
export function followedBy<State>(first: Decision<State>, decide: (state: State) => Decision<State>): Decision<State> {
  const { state, events } = decide(first.state);
  return { state, events: [...first.events, ...events] };
}

/** The input of a decision in addition to the state: one time for all of it, ids for new rows, and the caller. */
export interface Moment {
  readonly now: Date;
  readonly newId: () => string;
  /** Null: a job or the operator. */
  readonly caller: Caller | null;
}

/** Adds a decision to the last statement of its transaction. `before` is locked. */
export function write(
  { changes, events: told }: UnitOfWork,
  { now: timestamp, newId }: Pick<Moment, 'now' | 'newId'>,
  tenantId: string,
  before: Rows,
  after: Rows,
  events: readonly EventDraft[],
): void {
  changes.push(...changesOf(tenantId, before, after));
  told.push(...events.map((event) => ({ id: newId(), timestamp, ...event })));
}

/** Sends the changes of earlier decisions in the transaction to the database, so that the next decision reads them. */
export async function flush({ db, changes }: TransactionContext): Promise<void> {
  const [first, ...rest] = changes.splice(0);
  if (first) await db.everyTenant.run(withParts(rest, first));
}

type Row = Readonly<Record<string, unknown>>;

/** Fields that PostgreSQL computes, of the models that decisions write. */
const generated: Partial<Record<Prisma.ModelName, readonly string[]>> = {
  Patient: ['emailKey'],
  Encounter: ['gfeNo'],
  Order: ['orderNo'],
};

/** The form of each model's rows, without `tenantId` and {@link generated} fields. */
const forms = Object.fromEntries(
  Object.values(Prisma.ModelName).map((model) => {
    const computed = ['tenantId', ...(generated[model] ?? [])];
    return [
      model,
      rowForm(Object.keys(Prisma[`${model}ScalarFieldEnum`]).filter((field) => !computed.includes(field))),
    ];
  }),
) as Readonly<Record<Prisma.ModelName, RowForm>>;

/** The models of which a decision may remove rows, to change treatments. Removing other rows is a mistake. */
const removable: readonly Prisma.ModelName[] = ['EncounterTreatment', 'GfeItem'];

/**
 * The statements that turn the rows `before` into the rows `after`: new rows are inserted, changed columns updated, and
 * missing rows of {@link removable} models deleted. The rows of `before` must be locked: the statements must not wait.
 */
export function changesOf(tenantId: string, before: Rows, after: Rows): Prisma.Sql[] {
  const models = Object.keys({ ...before, ...after }) as Prisma.ModelName[];
  const rowsOf = (rows: Rows, model: Prisma.ModelName) => (rows[model] ?? []) as readonly Row[];
  return models.flatMap((model) => tableChanges(tenantId, model, rowsOf(before, model), rowsOf(after, model)));
}

function tableChanges(
  tenantId: string,
  model: Prisma.ModelName,
  before: readonly Row[],
  after: readonly Row[],
): Prisma.Sql[] {
  const [table, form] = [tableOf(model), forms[model]];
  const stored = new Map(before.map((row) => [keyOf(row), row]));
  const left = new Set(after.map(keyOf));
  const added = after.filter((row) => !stored.has(keyOf(row)));
  const removed = before.filter((row) => !left.has(keyOf(row)));
  if (removed.length > 0 && !removable.includes(model))
    throw new Error(`A decision leaves out a row of ${model}: let it return this row.`);
  const differing = new Set<string>();
  const changed = after.filter((row) => {
    const old = stored.get(keyOf(row));
    if (!old || old === row) return false;
    const own = form.fields.filter((field) => !isDeepStrictEqual(old[field], row[field]));
    for (const field of own) differing.add(field);
    return own.length > 0;
  });
  const ids = removed.map(({ id }) => id);
  return [
    ...(added.length > 0 ? [tenantInsertion(tenantId, table, added, form)] : []),
    ...(changed.length > 0 ? [update(tenantId, table, changed, [...differing])] : []),
    ...(removed.length > 0
      ? [Prisma.sql`DELETE FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND id = ANY(${ids}::uuid[])`]
      : []),
  ];
}

/** The key of a row in its table. */
const keyOf = ({ id, encounterId, documentId }: Row): string =>
  typeof id === 'string' ? id : JSON.stringify([encounterId, documentId]);

function update(tenantId: string, table: string, rows: readonly Row[], fields: readonly string[]): Prisma.Sql {
  const assignments = fields.map((field) => {
    const column = identifier(columnOf(field));
    return Prisma.sql`${column} = changed.${column}`;
  });
  return Prisma.sql`
    UPDATE ${identifier(table)} AS stored SET ${Prisma.join(assignments)}
    FROM ${recordset(table, rows, ['id', ...fields])} AS changed
    WHERE stored.tenant_id = ${tenantId} AND stored.id = changed.id`;
}
