import type { DomainContext } from '../../context.js';
import { createApiClient } from '../access/apiClients.js';
import { importBundled, type FixtureStore } from './fixtures.js';
import { fillSandbox } from './reset.js';
import { createTenant, listTenants } from '../access/tenants.js';
import { inTransaction } from '../transactions/transaction.js';

/** Credentials for a demo tenant; the secret is returned only here. */
interface DemoCredentials {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Two tenants: the first has the fixtures, the second another catalog until it is reset. */
const demoTenants = [
  { id: 'demo', name: 'demo', catalog: null },
  { id: 'harbor', name: 'Harbor Wellness', catalog: 'prisma/demo/harbor.json' },
] as const;

/** Creates the demo tenants, each with a partner client. Existing ones stay and give no credentials. */
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
  return inTransaction(context, async (transaction) => {
    await createTenant(transaction, { id, name, mode: 'sandbox' });
    await (catalog === null ? fillSandbox(transaction, id, store) : importBundled(transaction, id, catalog));
    const wanted = { tenant: id, name: 'demo', preset: 'partner' } as const;
    const { clientId, clientSecret } = await createApiClient(transaction, wanted);
    return { name, clientId, clientSecret };
  });
}
