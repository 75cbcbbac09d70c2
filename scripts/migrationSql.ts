import { readFile } from 'node:fs/promises';
import { schemaDiff } from './schemaEngine.js';
import { configuredDatabase } from '../src/runtime/configuredDatabase.js';
import { readConfig } from '../src/config.js';

const usage = `Usage: npx tsx scripts/migrationSql.ts           print the SQL that creates all of schema.prisma
       npx tsx scripts/migrationSql.ts OLD_FILE  print the SQL from an older schema.prisma to the current one, with
                                                 which to begin prisma/migrations/<time>_<name>/migration.sql;
                                                 git show HEAD:prisma/schema.prisma > OLD_FILE writes the older one
Prisma's engine connects to the configured database (DATABASE_URL, or the embedded one), but neither reads nor changes it.`;

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
