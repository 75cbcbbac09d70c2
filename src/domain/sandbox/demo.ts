import { readFile } from 'node:fs/promises';
import type { DomainContext } from '../../context.js';
import { packageRoot } from '../../packageRoot.js';
import { createApiClient } from '../access/apiClients.js';
import { readCatalog } from '../catalog/import/readCatalog.js';
import { writeCatalog } from '../catalog/import/importCatalog.js';
import type { JsonFault } from '../catalog/import/jsonDocument.js';
import { fillSandbox, type FixtureStore } from './reset.js';
import { createTenant, listTenants } from '../access/tenants.js';
import { inTransaction, type TransactionContext } from '../transactions/transaction.js';

/** What somebody needs to try a demo tenant; the secret is known only now. */
export interface DemoCredentials {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Two, so that the wall between tenants can be tried. The first has the fixtures, the other one a catalog of its own
 * until it is reset.
 */
const demoTenants = [
  { id: 'demo', name: 'demo', catalog: null },
  { id: 'harbor', name: 'Harbor Wellness', catalog: 'prisma/demo/harbor.json' },
] as const;

const TIMEOUT_MS = 60_000;

/**
 * Creates the sandbox tenants of the demo, each with one API client that has every permission of a partner. A tenant
 * that exists is left alone and gives no credentials. A tenant comes complete or not at all.
 */
export async function createDemo(context: DomainContext, store: FixtureStore): Promise<DemoCredentials[]> {
  const existing = new Set((await listTenants(context)).map(({ id }) => id));
  const created: DemoCredentials[] = [];
  for (const tenant of demoTenants) {
    if (!existing.has(tenant.id)) created.push(await createDemoTenant(context, store, tenant));
  }
  return created;
}

function createDemoTenant(
  context: DomainContext,
  store: FixtureStore,
  { id, name, catalog }: (typeof demoTenants)[number],
): Promise<DemoCredentials> {
  return inTransaction(
    context,
    async (transaction) => {
      const tenant = await createTenant(transaction, { id, name, mode: 'sandbox' });
      await (catalog === null ? fillSandbox(transaction, tenant, store) : fillCatalog(transaction, id, catalog));
      const { clientId, clientSecret } = await createApiClient(transaction, {
        tenant: id,
        name: 'demo',
        preset: 'partner',
      });
      return { name, clientId, clientSecret };
    },
    TIMEOUT_MS,
  );
}

async function fillCatalog(context: TransactionContext, tenantId: string, path: string): Promise<void> {
  const file = readCatalog(await readFile(new URL(path, packageRoot), 'utf8'));
  const result = 'faults' in file ? file : await writeCatalog(context, tenantId, file);
  if ('faults' in result) throw faulty(path, result.faults);
}

/** The files are ours: a fault in one is a defect of this build. */
function faulty(catalog: string, faults: readonly JsonFault[]): Error {
  const [{ line, column, message } = { line: 0, column: 0, message: '' }] = faults;
  return new Error(`${catalog}:${line}:${column}: ${message} (${faults.length} faults)`);
}
