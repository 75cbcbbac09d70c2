import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../src/adapters/database/database.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { newToken } from '../support/factories.js';
import type { ServerProcess } from '../support/serverProcess.js';

/** Creates a live tenant and a client with the permissions of a partner. */
export async function newCredentials(db: Database, name = 'Lakeside') {
  const context = systemContext(db);
  const { id: tenant } = await createTenant(context, { name, mode: 'live' });
  return { tenant, ...(await createApiClient(context, { tenant, preset: 'partner' })) };
}

/** A token for a tenant of --demo. */
export async function demoToken(baseUrl: string, dataDir: string, index = 0): Promise<string> {
  const { tenants } = JSON.parse(await readFile(join(dataDir, 'demo-credentials.json'), 'utf8'));
  return newToken({ baseUrl }, tenants[index]);
}

/** Stops a server by a signal, at which it must exit with 0. */
export async function expectCleanExit({ child, ended }: ServerProcess, signal: NodeJS.Signals = 'SIGTERM') {
  child.kill(signal);
  expect(await ended).toEqual({ code: 0, signal: null });
}

/** The address of the metrics of a server with METRICS_PORT. */
export const metricsUrlOf = (server: ServerProcess): string =>
  String(server.logged().find(({ msg }) => msg === 'started')?.['metrics']);
