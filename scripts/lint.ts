/** Checks what no linter knows: the migrations, and the licenses of packages. */
import { readMigrations } from '../src/adapters/database/migrationFile.js';
import { licenseFaults, readLockFile } from './licenses.js';
import { faultsOfMigration } from './migrationRules.js';

const ofMigrations = (await readMigrations()).flatMap(({ name, sql }) =>
  faultsOfMigration(sql).map((fault) => `prisma/migrations/${name}: ${fault}\n`),
);
const ofLicenses = licenseFaults(await readLockFile()).map((fault) => `${fault}\n`);
const faults = [...ofMigrations, ...ofLicenses];
process.stdout.write(faults.join(''));
if (faults.length > 0) process.exitCode = 1;
