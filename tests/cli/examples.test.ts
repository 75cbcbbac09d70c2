import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { packageRoot } from '../../src/packageRoot.js';
import { everyCase } from '../support/everyCase.js';
import { patientColumns } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { rowsOf } from '../support/migrations.js';
import { openOperator } from './operator.js';

// One test: the examples build on each other and on a sandbox's fixtures.

const { harness, database, run } = await openOperator();
const folder = temporaryFolder();
const clientId = 'ces_k5xw4zdpnrqw2y3imfzg';
const reference = await readFile(new URL('scripts/production/cli.md', packageRoot), 'utf8');
const examples = [...reference.matchAll(/^ {2}\$ ces (.*?)(?: > \S+)?$/gm)].map(([, example = '']) => example);

const provider = { reviewerRef: 'dr-lee', name: 'Dana Lee', npi: '1234567893', licenses: [] };

/** By the beginning of an example: what to prepare before the first such example. */
const preparations = new Map<string, () => Promise<unknown>>(
  Object.entries({
    'client update': async () => {
      const created = await createApiClient(harness.domain, { tenant: 'lakeside', preset: 'partner', name: 'Example' });
      await rowsOf(
        database.url,
        `UPDATE api_client SET client_id = '${clientId}' WHERE client_id = '${created.clientId}'`,
      );
    },
    'provider import': () => writeFile(folder('providers.json'), JSON.stringify({ providers: [provider] })),
    'patient verify': () => {
      const names = { id: '01a10caf-a4c0-7a11-8f00-3c5e6f7a8b9c', email: 'Maria.Lopez@example.com' };
      const times = { createdAt: new Date(), updatedAt: new Date() };
      return harness.domain.db.prisma.patient.createMany({
        data: { ...patientColumns, ...names, ...times, tenantId: 'lakeside' },
      });
    },
    'audit verify': () => addCheckpoints(harness.domain),
  }),
);

/** The arguments of an example, with files of the test. */
function argumentsOf(example: string): string[] {
  const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
  const own: Record<string, string | undefined> = {
    'catalog.json': fileURLToPath(new URL('prisma/demo/harbor.json', packageRoot)),
    'providers.json': folder('providers.json'),
    export: words[0] === 'patient' ? folder('export') : undefined,
  };
  return words.map((word, index) => (index > 1 ? own[word] : undefined) ?? word);
}

// Other tests run these: backups need programs of the server's version (tests/system/backup.test.ts), files of a tenant
// a second database (tenantImport.test.ts), and a layout a cluster (tests/citus/layout.test.ts).
const elsewhere = /^(backup|restore|citus|tenant (export|import))/;
it('the examples of the command reference succeed in its order, except those that other tests run', async () => {
  const runnable = examples.filter((example) => !elsewhere.test(example));
  await everyCase(runnable, String, async (example) => {
    const prefix = [...preparations.keys()].find((start) => example.startsWith(start)) ?? '';
    await preparations.get(prefix)?.();
    preparations.delete(prefix);
    const { code, stdout, stderr } = await run(...argumentsOf(example));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toBe('');
  });
});
