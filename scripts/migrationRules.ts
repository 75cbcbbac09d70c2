import { kindOf, locksOf, statementsOf } from '../src/adapters/database/migrationFile.js';

/** Matches the name of the table that a statement changes or locks. */
const TABLE =
  /^(?:ALTER TABLE|UPDATE|DELETE FROM|INSERT INTO|LOCK TABLE|DROP TABLE|CREATE(?: UNIQUE)? INDEX.* ON|CREATE TRIGGER.* ON)(?: IF EXISTS)?(?: ONLY)? "?(\w+)/s;

/** Statements, and clauses of ALTER TABLE, that a migration of an existing table must not contain, with advice. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [
    /^(CREATE( UNIQUE)?|DROP) INDEX (?!CONCURRENTLY IF )/,
    'Create and drop indexes by CONCURRENTLY IF [NOT] EXISTS, in a migration of their own.',
  ],
  [
    /^RENAME\b/,
    'Add a table, column or constraint instead of renaming one: servers of the last release may use its name.',
  ],
  [
    /^ADD COLUMN (?!.* DEFAULT ).*NOT NULL|SET NOT NULL$/s,
    'Give a new column that is NOT NULL a DEFAULT; leave an existing one nullable.',
  ],
  [
    /^ADD COLUMN .*\b(REFERENCES|CHECK|UNIQUE|PRIMARY KEY)\b/s,
    'Give a new column its constraint by ADD CONSTRAINT … NOT VALID, or … USING INDEX.',
  ],
  [
    /^ADD CONSTRAINT (?!.*(NOT VALID|USING INDEX))/s,
    'Add CHECK and FOREIGN KEY NOT VALID, and validate them in a later migration; add UNIQUE and PRIMARY KEY USING an ' +
      'INDEX that an earlier migration created CONCURRENTLY.',
  ],
  [/^ALTER COLUMN .* TYPE /s, 'ALTER COLUMN … TYPE may rewrite the table: add a column of the new type instead.'],
];

/** The faults of a migration, with advice: what could disturb servers of the last release, and locks that are not stated. */
export function faultsOfMigration(sql: string): string[] {
  const kind = kindOf(sql);
  const statements = statementsOf(sql);
  const stated = locksOf(sql);
  const created = statements.flatMap((statement) => /^CREATE TABLE "?(\w+)/.exec(statement)?.[1] ?? []);
  const ofExisting = statements.filter((statement) => !created.includes(TABLE.exec(statement)?.[1] ?? ''));
  const clauses = ofExisting.flatMap((statement) =>
    statement.replace(/^ALTER TABLE(?: IF EXISTS)?(?: ONLY)? \S+\s+/, '').split(/,\s*(?=(?:ADD|DROP|ALTER|VALIDATE) )/),
  );
  const has = (pattern: RegExp): boolean => clauses.some((clause) => pattern.test(clause));
  const faults = REFUSED.filter(([pattern]) => has(pattern)).map(([, advice]) => advice);

  if (has(/^DROP (TABLE|COLUMN)\b/) && !/^-- Unused since \d+\.\d+\.\d+/m.test(sql))
    faults.push(
      'Drop a table or column only after a release that does not use it: name that one, as in "-- Unused since 1.0.0".',
    );
  if (has(/NOT VALID$/) && has(/^VALIDATE /))
    faults.push(
      'Move VALIDATE CONSTRAINT to a later migration: ADD CONSTRAINT holds a stronger lock until this one ends.',
    );
  if (kind === 'transaction' && has(/ INDEX CONCURRENTLY /))
    faults.push(
      'A migration with INDEX CONCURRENTLY may contain only CREATE and DROP INDEX CONCURRENTLY: move the rest to another.',
    );
  if (kind === 'transaction' && has(/^(WITH|UPDATE|DELETE)\b/))
    faults.push('Change rows in a migration of its own, whose line "-- Locks:" ends with "; in batches".');
  if (kind === 'batches' && !(clauses.length === 1 && has(/^(UPDATE|DELETE)\b.* LIMIT \d+/s)))
    faults.push('A migration "in batches" must be one UPDATE or DELETE, with a SELECT … LIMIT and a number.');

  if (!stated)
    faults.push(
      'State the locks on a line like "-- Locks: none" or "-- Locks: SHARE table, ACCESS EXCLUSIVE other; reads no row".',
    );
  const locked = ofExisting.flatMap((statement) => TABLE.exec(statement)?.[1] ?? []);
  const unstated = locked.filter((name) => stated && !stated.locks.some(({ table }) => table === name));
  return [...faults, ...unstated.map((table) => `Add the lock of ${table} to the line "-- Locks:".`)];
}
