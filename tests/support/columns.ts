interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: { name: string }[] }>;
}

/** The columns of a table that an INSERT may set, without those that are generated or an identity. */
export async function columnsOf(session: Queryable, table: string): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND table_schema = current_schema()
      AND is_generated = 'NEVER' AND is_identity = 'NO'`,
    [table],
  );
  return rows.map(({ name }) => name);
}
