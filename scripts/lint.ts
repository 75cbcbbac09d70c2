/**
 * Type-checks and lints everything as one program, because `tsc` and `eslint` spend most of their time on the same
 * types. Also checks the migrations and the licences of packages.
 */
import { ESLint } from 'eslint';
import ts from 'typescript';
import { readMigrations } from '../src/adapters/database/migrationFile.js';
import { licenceFaults, readLockFile } from './licences.js';
import { faultsOfMigration } from './migrationRules.js';

const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
// The workbench is a separate program: it uses types of browsers, which the service must not see.
const programs = ['tsconfig.json', 'src/workbench/tsconfig.json'].map((file) => {
  const config = ts.getParsedCommandLineOfConfigFile(file, {}, host);
  if (!config) throw new Error(`${file} cannot be read`);
  const { fileNames: rootNames, options } = config;
  const configFileParsingDiagnostics = ts.getConfigFileParsingDiagnostics(config);
  return ts.createProgram({ rootNames, options, configFileParsingDiagnostics });
});
const faults = programs.flatMap((program) => ts.getPreEmitDiagnostics(program));
process.stdout.write(ts.formatDiagnosticsWithColorAndContext(faults, ts.createCompilerHost({})));

const eslint = new ESLint({
  overrideConfigFile: 'scripts/eslint.config.js',
  overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions: { programs } } },
});
const results = await eslint.lintFiles(['src', 'scripts', 'tests']);
process.stdout.write(await (await eslint.loadFormatter()).format(results));
const ofMigrations = (await readMigrations()).flatMap((migration) =>
  faultsOfMigration(migration).map((fault) => `prisma/migrations/${migration.name}: ${fault}\n`),
);
const ofLicences = licenceFaults(await readLockFile()).map((fault) => `${fault}\n`);
const others = [...ofMigrations, ...ofLicences];
process.stdout.write(others.join(''));
process.exitCode =
  others.length > 0 || faults.length > 0 || results.some(({ messages }) => messages.length > 0) ? 1 : 0;
