import { readFile } from 'node:fs/promises';
import { schemaDiff } from './schemaEngine.js';
import { configuredDatabase } from '../src/runtime/configuredDatabase.js';
import { readConfig } from '../src/config.js';

const usage = `Usage: npx tsx scripts/migrationSql.ts           print the SQL that makes all of schema.prisma
       npx tsx scripts/migrationSql.ts OLD_FILE  print the SQL from an older schema.prisma to the present one, to begin
                                                 prisma/migrations/<time>_<name>/migration.sql with; for example
                                                 git show HEAD:prisma/schema.prisma > /tmp/old.prisma
Prisma's engine wants a database, but does not look into it: DATABASE_URL's, or the embedded one in DATA_DIR.`;

const tell = (message: string): void => void process.stderr.write(`${message}\n`);

async function main(olderSchema: string | undefined): Promise<void> {
  if (olderSchema?.startsWith('-')) return tell(usage);
  const older = olderSchema === undefined ? undefined : await readFile(olderSchema, 'utf8');
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir } = readConfig(process.env);
  const place = { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir };
  const { url, close } = await configuredDatabase({ ...place, role: 'tool', log: tell });
  try {
    process.stdout.write(await schemaDiff(url, older));
  } finally {
    await close();
  }
}

await main(process.argv[2]).catch((error: unknown) => {
  tell(String(error));
  process.exitCode = 1;
});
