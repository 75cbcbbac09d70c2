import { readFile } from 'node:fs/promises';
import { openEmbeddedPostgres } from '../src/adapters/embeddedPostgres.js';
import { schemaDiff } from '../src/adapters/migrations.js';
import { migrateDatabase } from '../src/adapters/serviceDatabase.js';
import { readConfig } from '../src/config.js';

const usage = `Usage: npx tsx scripts/migrate.ts                 apply the pending migrations
       npx tsx scripts/migrate.ts --sql           print the SQL that makes all of schema.prisma
       npx tsx scripts/migrate.ts --sql OLD_FILE  print the SQL from an older schema.prisma to the present one, to begin
                                                  prisma/migrations/<time>_<name>/migration.sql with; for example
                                                  git show HEAD:prisma/schema.prisma > /tmp/old.prisma
The database is DATABASE_URL's, or the embedded one in DATA_DIR (default .data), whether a server runs on it or not.`;

const tell = (message: string): void => void process.stderr.write(`${message}\n`);

/** Runs the work on the configured database; the embedded one is started and stopped when no server has it open. */
async function withDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  if (databaseUrl !== null) return work(databaseUrl);
  const { url, close } = await openEmbeddedPostgres({ dataDir, role: 'tool', log: tell });
  try {
    await work(url);
  } finally {
    await close();
  }
}

async function main([option, olderSchema, ...more]: string[]): Promise<void> {
  if (more.length > 0 || (option !== undefined && option !== '--sql')) {
    tell(usage);
    process.exitCode = option === '--help' ? 0 : 2;
    return;
  }
  if (option === '--sql') {
    const older = olderSchema === undefined ? undefined : await readFile(olderSchema, 'utf8');
    return withDatabase(async (url) => void process.stdout.write(await schemaDiff(url, older)));
  }
  await withDatabase(async (url) => {
    const applied = await migrateDatabase(url, tell);
    if (applied.length === 0) tell('The schema is up to date.');
  });
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  tell(String(error));
  process.exitCode = 1;
});
