import type { DomainContext } from '../../context.js';
import { createApiClient } from '../access/apiClients.js';
import { importBundled, type FixtureStore } from './fixtures.js';
import { fillSandbox } from './reset.js';
import { createTenant, listTenants } from '../access/tenants.js';
import { inTransaction } from '../transactions/transaction.js';

/** A demo tenant with its credentials; the secret is returned only here. */
export interface DemoTenant {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The two demo tenants. The first has the fixtures; the second has another catalog, until it is reset. */
const demoTenants = [
  { id: 'demo', name: 'demo', catalog: null },
  { id: 'harbor', name: 'Harbor Wellness', catalog: 'prisma/demo/harbor.json' },
] as const;

/** Creates the missing demo tenants, each with a partner's API client. @returns the credentials of the created ones */
export async function createDemo(context: DomainContext, store: FixtureStore): Promise<DemoTenant[]> {
  const existing = new Set((await listTenants(context)).map(({ id }) => id));
  const created: DemoTenant[] = [];
  for (const tenant of demoTenants) {
    if (!existing.has(tenant.id)) created.push(await createDemoTenant(context, store, tenant));
  }
  return created;
}

function createDemoTenant(
  context: DomainContext,
  store: FixtureStore,
  { id, name, catalog }: (typeof demoTenants)[number],
): Promise<DemoTenant> {
  return inTransaction(context, async (transaction) => {
    await createTenant(transaction, { id, name, mode: 'sandbox' });
    await (catalog === null ? fillSandbox(transaction, id, store) : importBundled(transaction, id, catalog));
    const wanted = { tenant: id, name: 'demo', preset: 'partner' } as const;
    const { clientId, clientSecret } = await createApiClient(transaction, wanted);
    return { name, clientId, clientSecret };
  });
}
