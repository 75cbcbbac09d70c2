import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Services } from '../context.js';
import { createDemo, type DemoTenant } from '../domain/sandbox/demo.js';
import { errorCode } from '../failures.js';

export type { DemoTenant };

/** Creates the demo tenants once. Stores known credentials with this start's address (mode 0600). @returns them */
export async function ensureDemo(services: Services, dataDir: string, baseUrl: string): Promise<DemoTenant[]> {
  const file = join(dataDir, 'demo-credentials.json');
  const known = await readTenants(file);
  const tenants = known.length > 0 ? known : await createDemo(services, services.objects);
  if (tenants.length > 0) {
    await writeFile(`${file}.new`, `${JSON.stringify({ baseUrl, tenants }, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  return tenants;
}

async function readTenants(file: string): Promise<DemoTenant[]> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
    return typeof parsed === 'object' && parsed !== null && 'tenants' in parsed ? (parsed.tenants as DemoTenant[]) : [];
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new Error(
      `${file} is unreadable or not JSON. Repair it. If you cannot, delete it, start again, and run "scripts/ces client create --tenant demo --preset partner": the secrets in the file are lost.`,
      { cause: error },
    );
  }
}
