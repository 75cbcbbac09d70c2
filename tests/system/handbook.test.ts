import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { temporaryFolder } from '../support/folder.js';
import { commandsOf } from '../support/handbook.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { killServers, startServer } from '../support/serverProcess.js';

const folder = temporaryFolder();
const cwd = fileURLToPath(packageRoot);

/** The handbook's commands for roles and signing keys, as one script. */
async function steps(): Promise<string> {
  const keys = await commandsOf('install.md', '## Signing keys', '## Build and start');
  const blocks = [...(await commandsOf('database.md', '## Roles', '## Standbys')), ...keys];
  return ['set -e', ...blocks, 'echo "$DATABASE_URL"'].join('\n');
}

(hasDebianPostgres() ? it : it.skip)(
  "the handbook's commands for roles and keys set up a database on which a server starts as its own role",
  async () => {
    const { port, superuser, remove } = await startDebianPostgres();
    try {
      const script = (await steps()).replaceAll(':5432/', `:${port}/`).replaceAll('/secure/', `${folder()}/`);
      const env = { PATH: `${cwd}scripts:${process.env['PATH']}`, DATA_DIR: folder(), ...superuser };
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd, env });
      expect(stdout).toMatch(/^Applied \d+_initial$/m);
      const url = stdout.trimEnd().split('\n').at(-1) ?? '';
      const keys = folder('keys.json');
      const server = startServer({ DATABASE_URL: url, DATA_DIR: folder(), SIGNING_KEYS_FILE: keys });
      expect((await call({ baseUrl: await server.started }, 'GET /readyz')).status).toBe(200);
      expect(await rowsOf(url, 'SELECT current_user AS role')).toEqual([{ role: 'ces_service' }]);
      const extensions = await rowsOf(url, `SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1`);
      expect(extensions).toEqual([{ extname: 'btree_gin' }, { extname: 'pg_trgm' }]);
    } finally {
      await killServers();
      await remove();
    }
  },
  60_000,
);
