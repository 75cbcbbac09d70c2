import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { packageRoot } from '../../packageRoot.js';

/** A file of prisma/migrations. scripts/migrationRules.ts checks its form. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** The migrations of a folder, oldest first; by default those of this build. */
export async function readMigrations(folder = new URL('prisma/migrations/', packageRoot)): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(`${name}/migration.sql`, folder), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * How a migration runs: all statements in one transaction; each statement alone, because it creates or drops an index
 * concurrently; or one statement repeated in separate transactions until it changes no row.
 */
export type MigrationKind = 'transaction' | 'indexes' | 'batches';

/** Determines the kind from the `-- Locks:` line and the statements of the file. */
export function kindOf(sql: string): MigrationKind {
  if (/^-- Locks: .*; in batches$/m.test(sql)) return 'batches';
  const isIndex = (statement: string): boolean => /^(CREATE( UNIQUE)?|DROP) INDEX CONCURRENTLY /.test(statement);
  return statementsOf(sql).every(isIndex) ? 'indexes' : 'transaction';
}

const MODES =
  '(?:ACCESS SHARE|ROW SHARE|ROW EXCLUSIVE|SHARE UPDATE EXCLUSIVE|SHARE|SHARE ROW EXCLUSIVE|EXCLUSIVE|ACCESS EXCLUSIVE)';
const LOCKS = new RegExp(
  `^-- Locks: (none|${MODES} \\w+(?:, ${MODES} \\w+)*)(?:; (reads no row|reads all rows|in batches))?$`,
  'm',
);

/** A lock that a migration holds until it ends, or until the end of a batch. */
export interface StatedLock {
  readonly mode: string;
  readonly table: string;
}

/** The locks that a migration states after `-- Locks:`, and the words after the semicolon; undefined without the line. */
export function locksOf(sql: string): { readonly locks: StatedLock[]; readonly reads: string | undefined } | undefined {
  const [line, stated, reads] = LOCKS.exec(sql) ?? [];
  if (line === undefined || stated === undefined) return undefined;
  const parts = stated === 'none' ? [] : stated.split(', ');
  const locks = parts.map((part) => ({ mode: part.replace(/ \w+$/, ''), table: part.split(' ').at(-1) ?? '' }));
  return { locks, reads };
}

/** The statements of a file, without the bodies of functions and without comments. */
export function statementsOf(sql: string): string[] {
  const bare = wholeStatementsOf(sql).map((statement) => statement.replaceAll(/--.*$|\$\$[^]*?\$\$/gm, '').trim());
  return bare.map((statement) => statement.replace(/\s*;$/, '')).filter((statement) => statement !== '');
}

/** The statements of a file as they are written. */
export function wholeStatementsOf(sql: string): string[] {
  return sql.match(/(?:--.*|\$\$[^]*?\$\$|'[^']*'|[^;])+;?/g) ?? [];
}
