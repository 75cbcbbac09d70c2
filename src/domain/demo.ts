import { readFile } from 'node:fs/promises';
import type { DomainContext } from '../context.js';
import { packageRoot } from '../packageRoot.js';
import { createApiClient } from './apiClients.js';
import { readCatalog } from './catalogFile.js';
import { writeCatalog } from './catalogImport.js';
import type { JsonFault } from './jsonDocument.js';
import { createTenant, listTenants } from './tenants.js';
import { inTransaction } from './transactionContext.js';

/** What somebody needs to try a demo tenant; the secret is known only now. */
export interface DemoCredentials {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Two, so that the wall between tenants can be tried. The first has what the contract's examples show. */
const demoTenants = [
  { id: 'demo', name: 'demo', catalog: 'prisma/demo/demo.json' },
  { id: 'harbor', name: 'Harbor Wellness', catalog: 'prisma/demo/harbor.json' },
] as const;

const TIMEOUT_MS = 60_000;

/**
 * Creates the sandbox tenants of the demo, each with its catalog and one API client that has every permission of a
 * partner. A tenant that exists is left alone and gives no credentials. A tenant comes complete or not at all.
 */
export async function createDemo(context: DomainContext): Promise<DemoCredentials[]> {
  const existing = new Set((await listTenants(context)).map(({ id }) => id));
  const created: DemoCredentials[] = [];
  for (const tenant of demoTenants) {
    if (!existing.has(tenant.id)) created.push(await createDemoTenant(context, tenant));
  }
  return created;
}

async function createDemoTenant(
  context: DomainContext,
  { id, name, catalog }: (typeof demoTenants)[number],
): Promise<DemoCredentials> {
  const file = readCatalog(await readFile(new URL(catalog, packageRoot), 'utf8'));
  if ('faults' in file) throw faulty(catalog, file.faults);
  return inTransaction(
    context,
    async (transaction) => {
      await createTenant(transaction, { id, name, mode: 'sandbox' });
      const result = await writeCatalog(transaction, id, file);
      if ('faults' in result) throw faulty(catalog, result.faults);
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

/** The files are ours: a fault in one is a defect of this build, or an id of theirs is taken. */
function faulty(catalog: string, faults: readonly JsonFault[]): Error {
  const [{ line, column, message } = { line: 0, column: 0, message: '' }] = faults;
  return new Error(`${catalog}:${line}:${column}: ${message} (${faults.length} faults)`);
}
