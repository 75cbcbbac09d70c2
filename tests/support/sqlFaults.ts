import type { Harness } from './harness.js';

/** Runs SQL around the work: for faults of the database that quote what was sent. */
export async function withSql<T>(
  { domain }: Harness,
  before: string,
  after: string,
  work: () => Promise<T>,
): Promise<T> {
  for (const statement of before.split(';;')) await domain.db.prisma.$executeRawUnsafe(statement);
  try {
    return await work();
  } finally {
    for (const statement of after.split(';;')) await domain.db.prisma.$executeRawUnsafe(statement);
  }
}

/** The table refuses each row with a message that repeats it whole. */
export const tellingAll = <T>(harness: Harness, table: string, work: () => Promise<T>): Promise<T> =>
  withSql(
    harness,
    `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
   $$ BEGIN RAISE EXCEPTION 'row: %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$;;
   CREATE TRIGGER tell BEFORE INSERT ON "${table}" FOR EACH ROW EXECUTE FUNCTION tell()`,
    `DROP TRIGGER tell ON "${table}";; DROP FUNCTION tell`,
    work,
  );

/** A comparison with a status fails, and rows of the audit can be written all the same. */
export const withAuditOfTexts = <T>(harness: Harness, work: () => Promise<T>): Promise<T> =>
  withSql(
    harness,
    'ALTER TABLE audit_event ALTER status TYPE text',
    'ALTER TABLE audit_event ALTER status TYPE integer USING status::integer',
    work,
  );
