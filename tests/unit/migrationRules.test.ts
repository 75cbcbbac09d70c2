import { faultsOfMigration } from '../../scripts/migrationRules.js';
import { readMigrations } from '../../src/adapters/database/migrationFile.js';

const nextMigrations = await readMigrations(new URL('../support/nextMigrations/', import.meta.url));

const onClient = (clauses: string): string =>
  `-- Locks: ACCESS EXCLUSIVE client; reads no row\nALTER TABLE "client" ${clauses};`;
const beside = '-- Locks: SHARE UPDATE EXCLUSIVE client; reads all rows\n';

describe('the rules of migrations', () => {
  it.each([
    ['a table whose lock is not stated', 'ALTER TABLE "client" ADD COLUMN "x" TEXT;', /^State the locks/],
    [
      'a table that the stated locks lack',
      onClient('ADD COLUMN "x" TEXT; ALTER TABLE "event" ADD COLUMN "x" TEXT'),
      /of event/,
    ],
    [
      'a lock mode that PostgreSQL lacks',
      '-- Locks: TOTAL client\nALTER TABLE "client" ADD COLUMN "x" TEXT;',
      /^State the locks/,
    ],
    ['an index that blocks writes', '-- Locks: SHARE client\nCREATE INDEX "i" ON "client"("x");', /CONCURRENTLY IF/],
    [
      'an index whose statement cannot run again',
      `${beside}CREATE INDEX CONCURRENTLY "i" ON "client"("x");`,
      /CONCURRENTLY IF/,
    ],
    ['the drop of an index that blocks reads', '-- Locks: ACCESS EXCLUSIVE client\nDROP INDEX "i";', /CONCURRENTLY IF/],
    [
      'a concurrent index beside another statement',
      `${onClient('ADD COLUMN "x" TEXT')}
      CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "client"("x");`,
      /may contain only/,
    ],
    ['a dropped table', '-- Locks: ACCESS EXCLUSIVE client\nDROP TABLE "client";', /Unused since/],
    ['a dropped column', onClient('ADD COLUMN "x" TEXT, DROP COLUMN "email"'), /Unused since/],
    ['a renamed table', onClient('RENAME TO "patient"'), /renaming/],
    ['a table renamed after ONLY', onClient('RENAME TO "patient"').replace('TABLE', 'TABLE ONLY'), /renaming/],
    [
      'a NOT NULL column after IF EXISTS',
      onClient('ADD COLUMN "x" INT NOT NULL').replace('TABLE', 'TABLE IF EXISTS'),
      /DEFAULT/,
    ],
    ['a renamed column', onClient('RENAME COLUMN "email" TO "mail"'), /renaming/],
    [
      'a NOT NULL column without a default',
      onClient('ADD COLUMN "y" INT DEFAULT 1, ADD COLUMN "x" TEXT NOT NULL'),
      /DEFAULT/,
    ],
    ['a column that becomes NOT NULL', onClient('ALTER COLUMN "sex" SET NOT NULL'), /DEFAULT/],
    ['a constraint that reads the table', onClient('ADD CONSTRAINT "c" CHECK ("sex" IS NOT NULL)'), /NOT VALID/],
    ['a column with a constraint', onClient('ADD COLUMN "x" UUID REFERENCES "clinic"'), /ADD CONSTRAINT/],
    [
      'a constraint that is validated at once',
      onClient('ADD CONSTRAINT "c" CHECK (true) NOT VALID, VALIDATE CONSTRAINT "c"'),
      /later/,
    ],
    ['a type that rewrites the table', onClient('ALTER COLUMN "sex" TYPE TEXT'), /type/],
    ['an unbounded UPDATE', '-- Locks: ROW EXCLUSIVE client\nUPDATE "client" SET "x" = 1;', /in batches/],
    ['a batch without a limit', '-- Locks: ROW EXCLUSIVE client; in batches\nUPDATE "client" SET "x" = 1;', /LIMIT/],
  ])('refuse %s', (_name, sql, fault) => {
    expect(faultsOfMigration(sql)).toEqual([expect.stringMatching(fault)]);
  });

  it.each([
    [
      'new columns that are optional or have a default',
      onClient('ADD COLUMN "x" TEXT, ADD COLUMN "y" INTEGER NOT NULL DEFAULT 1'),
    ],
    ['a constraint for new rows', onClient('ADD CONSTRAINT "c" CHECK ("sex" IS NOT NULL) NOT VALID')],
    [
      'a new table with an index',
      `-- Locks: none\nCREATE TABLE "visit" ("id" UUID NOT NULL, CONSTRAINT "p" PRIMARY KEY ("id"));
      CREATE INDEX "i" ON "visit"("id"); ALTER TABLE "visit" ADD CONSTRAINT "c" UNIQUE ("id");`,
    ],
    [
      'indexes that are created and dropped concurrently',
      `${beside}CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "client"("x");
      DROP INDEX CONCURRENTLY IF EXISTS "j";`,
    ],
    [
      'a table after IF EXISTS or ONLY',
      `-- Unused since 1.0.0\n-- Locks: ACCESS EXCLUSIVE client
      DROP TABLE IF EXISTS "client"; ALTER TABLE ONLY "client" ADD COLUMN "x" TEXT;`,
    ],
    ['a dropped column that is unused since a release', `-- Unused since 1.0.0\n${onClient('DROP COLUMN "sex"')}`],
    [
      'an UPDATE in batches',
      `-- Locks: ROW EXCLUSIVE client; in batches
      UPDATE "client" SET "x" = 1 WHERE "id" IN (SELECT "id" FROM "client" WHERE "x" IS NULL LIMIT 9);`,
    ],
    [
      'a trigger whose function changes rows',
      `-- Locks: SHARE ROW EXCLUSIVE client
      CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE "client" SET "x" = 1; RETURN NEW; END $$;
      CREATE TRIGGER "t" BEFORE INSERT ON "client" FOR EACH ROW EXECUTE FUNCTION f();`,
    ],
  ])('admit %s', (_name, sql) => {
    expect(faultsOfMigration(sql)).toEqual([]);
  });

  it.each(nextMigrations)('admit the migration $name of the tests', ({ sql }) => {
    expect(faultsOfMigration(sql)).toEqual([]);
  });
});
