/**
 * `make dev`: serves from the sources, and restarts the server after each change to code, contract or schema. The
 * embedded PostgreSQL keeps running, because its start would take most of a restart.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readConfig } from '../src/config.js';
import { advised } from '../src/failures.js';
import { configuredDatabase } from '../src/runtime/configuredDatabase.js';

let tsx: ChildProcess | undefined;
let stopping = false;
// Ctrl-C reaches both this process and tsx; forwarding it would be a second signal, at which tsx kills the server.
process.on('SIGINT', () => (stopping = true));
process.on('SIGTERM', () => {
  stopping = true;
  tsx?.kill();
});

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const log = (text: string): unknown => process.stderr.write(`${text}\n`);
  const { url, ownerUrl, close } = await configuredDatabase({ ...config, role: 'server', log });
  const watched = ['openapi/**/*', 'prisma/schema.prisma'].flatMap((pattern) => ['--include', pattern]);
  const options = config.databaseUrl === null ? ['--migrate', '--demo'] : [];
  if (!stopping) {
    const watch = ['node_modules/tsx/dist/cli.mjs', 'watch', '--clear-screen=false', ...watched];
    const env = { ...process.env, DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl };
    tsx = spawn(process.execPath, [...watch, 'scripts/devServer.ts', ...options], { stdio: 'inherit', env });
    await once(tsx, 'exit');
  }
  await close();
}

await serve().catch((error: unknown) => {
  process.stderr.write(`"make dev" failed. ${advised(error, 'Correct that, then run "make dev" again.')}\n`);
  process.exitCode = 1;
});
