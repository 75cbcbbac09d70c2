import type { Harness } from './harness.js';

/** Runs SQL, statements separated by `;;`, before and after the work, for example to cause database errors. */
export async function withSql<T>(harness: Harness, before: string, after: string, work: () => Promise<T>): Promise<T> {
  const run = async (sql: string): Promise<void> => {
    for (const statement of sql.split(';;')) await harness.domain.db.prisma.$executeRawUnsafe(statement);
  };
  await run(before);
  try {
    return await work();
  } finally {
    await run(after);
  }
}

/** Makes the table refuse each new row during the work, with a message that repeats the row. */
export const tellingAll = <T>(harness: Harness, table: string, work: () => Promise<T>): Promise<T> =>
  withSql(
    harness,
    `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
   $$ BEGIN RAISE EXCEPTION 'row: %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$;;
   CREATE TRIGGER tell BEFORE INSERT ON "${table}" FOR EACH ROW EXECUTE FUNCTION tell()`,
    `DROP TRIGGER tell ON "${table}";; DROP FUNCTION tell`,
    work,
  );
