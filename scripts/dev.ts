/**
 * `make dev`: serves from the sources, and starts the server anew on every change of code, contract or schema. The
 * embedded PostgreSQL, which would take most of a restart, goes on meanwhile.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readConfig } from '../src/config.js';
import { configuredDatabase } from '../src/runtime/configuredDatabase.js';

const config = readConfig(process.env);
const database = await configuredDatabase({
  ...config,
  role: 'server',
  log: (text) => process.stderr.write(`${text}\n`),
});
const watched = ['openapi/**/*', 'prisma/schema.prisma'].flatMap((pattern) => ['--include', pattern]);
const options = config.databaseUrl === null ? ['--migrate', '--demo'] : [];
const tsx = spawn(
  process.execPath,
  ['node_modules/tsx/dist/cli.mjs', 'watch', '--clear-screen=false', ...watched, 'scripts/devServer.ts', ...options],
  { stdio: 'inherit', env: { ...process.env, DATABASE_URL: database.url, DATABASE_OWNER_URL: database.ownerUrl } },
);
// A terminal sends Ctrl-C to both: a second one would make tsx kill the server.
process.on('SIGINT', () => undefined).on('SIGTERM', () => tsx.kill());
await once(tsx, 'exit');
await database.close();
