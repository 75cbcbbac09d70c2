import type { Client } from 'pg';

/** The columns of a table that an INSERT may set, without those that are generated or an identity. */
export async function columnsOf(session: Client, table: string): Promise<string[]> {
  const { rows } = await session.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND table_schema = current_schema()
      AND is_generated = 'NEVER' AND is_identity = 'NO'`,
    [table],
  );
  return rows.map(({ name }) => name);
}

/**
 * Copies an encounter with its items and treatments in its current state.
 * @param changes columns of the copies with other values, as SQL; `copy.n` counts the copies
 */
export async function copyEncounter(
  session: Client,
  id: string,
  copies: number,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  await session.query('BEGIN');
  await session.query(
    `CREATE TEMP TABLE copy ON COMMIT DROP AS SELECT gen_random_uuid() AS id, n FROM generate_series(1, ${copies}) AS n`,
  );
  for (const table of ['encounter', 'gfe_item', 'encounter_treatment']) {
    const isPart = table !== 'encounter';
    const changed = isPart ? { id: 'gen_random_uuid()', encounter_id: 'copy.id' } : { ...changes, id: 'copy.id' };
    const columns = await columnsOf(session, table);
    const values = columns.map((name) => Object(changed)[name] ?? `original.${name}`);
    await session.query(
      `INSERT INTO ${table} (${columns.join()}) SELECT ${values.join()} FROM ${table} AS original, copy
        WHERE original.${isPart ? 'encounter_id' : 'id'} = $1`,
      [id],
    );
  }
  // Discard the plans of the deferred checks: they are for a small table, and the table may be large now.
  await session.query('DISCARD PLANS');
  await session.query('COMMIT');
}
