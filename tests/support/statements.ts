import { mock } from 'node:test';
import { Client } from 'pg';
import { SETTINGS_ON_CITUS } from '../../src/adapters/database/database.js';

/** One SQL statement as sent to PostgreSQL. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** The name under which it is prepared; empty = it is not. */
  readonly name: string;
  /** Identifies the connection that sent it. */
  readonly connection: unknown;
}

/** The statements that this process sends on all its connections during the work, without those that open a connection. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const sent = mock.method(Client.prototype, 'query');
  try {
    await work();
    const statements = sent.mock.calls.map((call) => {
      const [config, values] = call.arguments as unknown[];
      const { text = String(config), values: own = values, name = '' } = Object(config) as Partial<Statement>;
      return { text, values: Array.isArray(own) ? own : [], name, connection: call.this };
    });
    return statements.filter(({ text }) => text !== SETTINGS_ON_CITUS);
  } finally {
    sent.mock.restore();
  }
}

/**
 * The number of round trips of the transactions during the work. A statement belongs to the trip after the latest one
 * whose answers its sender may have: PostgreSQL answers the statements of a connection in their order.
 */
export async function roundTripsOf(work: () => Promise<unknown>): Promise<number> {
  /** By connection in a transaction, the latest trip with an answer. */
  const answered = new Map<unknown, number>();
  const send = Client.prototype.query;
  let trips = 0;
  const counted = function (this: Client, ...sent: unknown[]): unknown {
    const { text = String(sent[0]) } = Object(sent[0]) as Partial<Statement>;
    if (text === 'BEGIN') answered.set(this, 0);
    const earlier = answered.get(this);
    const answer: unknown = send.apply(this, sent as Parameters<typeof send>);
    if (earlier === undefined) return answer;
    const trip = earlier + 1;
    const note = (): unknown => answered.has(this) && answered.set(this, Math.max(trip, answered.get(this) ?? 0));
    if (answer instanceof Promise) void answer.then(note, note);
    if (['COMMIT', 'ROLLBACK'].includes(text)) {
      trips += trip;
      answered.delete(this);
    }
    return answer;
  };
  const replaced = mock.method(Client.prototype, 'query', counted as typeof send);
  try {
    await work();
    return trips;
  } finally {
    replaced.mock.restore();
  }
}

/** Whether a statement writes the audit of requests, and nothing else. */
export const isAudit = ({ text }: Pick<Statement, 'text'>): boolean =>
  text.startsWith('WITH counted_audit AS') && !text.includes('"part 0"');

/** {@link statementsOf} without those that write the audit. */
export async function ownStatementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  return (await statementsOf(work)).filter((statement) => !isAudit(statement));
}

/** The statements of each transaction that ends during the work, from BEGIN to COMMIT or ROLLBACK. */
export async function transactionsOf(work: () => Promise<unknown>): Promise<string[][]> {
  const open = new Map<unknown, string[]>();
  const ended: string[][] = [];
  for (const { text, connection } of await statementsOf(work)) {
    if (text === 'BEGIN') open.set(connection, []);
    const transaction = open.get(connection);
    transaction?.push(text);
    if (!transaction || !['COMMIT', 'ROLLBACK'].includes(text)) continue;
    ended.push(transaction);
    open.delete(connection);
  }
  return ended;
}

/** A step of a plan that reads a table. */
export interface Scan {
  readonly table: string | undefined;
  /** Undefined for a scan of the whole table. */
  readonly index: string | undefined;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
  /** Of Citus. */
  readonly 'Distributed Query'?: {
    readonly Job: { readonly Tasks: readonly { readonly 'Remote Plan': readonly (readonly { Plan: PlanNode }[])[] }[] };
  };
}

/** The scans in the generic plan of the statement. */
export async function scansOf(observer: Client, statement: Statement): Promise<Scan[]> {
  return scansBelow(await genericPlan<PlanNode>(observer, 'FORMAT JSON', statement), undefined);
}

/** The number of rows of encounters and their parts that PostgreSQL reads for a statement. */
export async function rowsRead(observer: Client, statement: Statement): Promise<number> {
  const below = (node: PlanNode): number => {
    const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node;
    const isCounted = ['encounter', 'encounter_treatment', 'gfe_item'].includes(node['Relation Name'] ?? '');
    return (node.Plans ?? []).reduce((sum, child) => sum + below(child), isCounted ? (rows + removed) * loops : 0);
  };
  return below(await genericPlan<PlanNode>(observer, 'ANALYZE, FORMAT JSON', statement));
}

/** The number of rows of all tables that PostgreSQL reads for a statement, each as often as it is read. */
export async function rowsScanned(observer: Client, statement: Statement): Promise<number> {
  const below = (node: PlanNode): number => {
    const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node;
    const own = node['Relation Name'] === undefined ? 0 : (rows + removed) * loops;
    return (node.Plans ?? []).reduce((sum, child) => sum + below(child), own);
  };
  return below(await genericPlan<PlanNode>(observer, 'ANALYZE, FORMAT JSON', statement));
}

let prepared = 0;

/** The plan for any values, which the service's sessions use. */
async function genericPlan<Node>(observer: Client, options: string, { text, values }: Statement): Promise<Node> {
  const name = `generic_${(prepared += 1)}`;
  const literals = values.map((value) => {
    if (value === null || value === undefined) return 'NULL';
    if (Array.isArray(value)) return observer.escapeLiteral(`{${value.map(String).join(',')}}`);
    return observer.escapeLiteral(
      typeof value === 'string' || typeof value === 'bigint'
        ? String(value)
        : JSON.stringify(value).replaceAll('"', ''),
    );
  });
  await observer.query('SET plan_cache_mode = force_generic_plan; SET citus.explain_all_tasks = on');
  await observer.query(SETTINGS_ON_CITUS);
  await observer.query(`PREPARE ${name} AS ${text}`);
  const execution = `${name}${literals.length > 0 ? `(${literals.join(',')})` : ''}`;
  const explained = `EXPLAIN (${options}) EXECUTE ${execution}`;
  const { rows } = await observer.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(explained);
  const [row] = rows;
  if (!row) throw new Error(`EXPLAIN returned no plan: correct the statement ${text}`);
  return row['QUERY PLAN'][0].Plan;
}

/** A name on Citus without the number of the shard. */
const ofShards = (name: string | undefined): string | undefined => name?.replace(/_\d{6}$/, '');

/** @param table the table of the step above, because a bitmap index scan does not name it */
function scansBelow(node: PlanNode, table: string | undefined): Scan[] {
  const { 'Node Type': type, 'Index Name': index, 'Relation Name': name = table, Plans = [] } = node;
  const own = index !== undefined || type === 'Seq Scan' ? [{ table: ofShards(name), index: ofShards(index) }] : [];
  const { Tasks = [] } = node['Distributed Query']?.Job ?? {};
  const onNodes = Tasks.flatMap((task) => task['Remote Plan'].flat().map(({ Plan }) => Plan));
  return [...own, ...[...Plans, ...onNodes].flatMap((child) => scansBelow(child, name))];
}
