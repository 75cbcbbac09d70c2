/** Checks what no linter knows: the migrations, and the licences of packages. */
import { readMigrations } from '../src/adapters/database/migrationFile.js';
import { licenceFaults, readLockFile } from './licences.js';
import { faultsOfMigration } from './migrationRules.js';

const ofMigrations = (await readMigrations()).flatMap(({ name, sql }) =>
  faultsOfMigration(sql).map((fault) => `prisma/migrations/${name}: ${fault}\n`),
);
const ofLicences = licenceFaults(await readLockFile()).map((fault) => `${fault}\n`);
const faults = [...ofMigrations, ...ofLicences];
process.stdout.write(faults.join(''));
if (faults.length > 0) process.exitCode = 1;
