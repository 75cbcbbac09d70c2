import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { openDatabase } from '../../../src/adapters/database/database.js';
import { openObjectStore } from '../../../src/adapters/objects/openObjectStore.js';
import { createDemo } from '../../../src/domain/sandbox/demo.js';
import { hashClientSecret } from '../../../src/domain/access/apiClientSecrets.js';
import { presets } from '../../../src/domain/access/permissions.js';
import { temporaryFolder } from '../../support/folder.js';
import { createTestDatabase } from '../../support/postgres.js';
import { storedCatalog } from '../catalog/catalogHarness.js';

const database = await createTestDatabase();
const db = openDatabase(database.url);
const dataDir = temporaryFolder()();
const store = await openObjectStore({ dataDir, store: { kind: 'file' } });

afterAll(async () => {
  await db.close();
  await database.drop();
});

it('createDemo creates two sandbox tenants with credentials; a second run creates none and keeps the catalog of the tenant demo', async () => {
  const context = { db, now: () => new Date(), newId: () => v7(), randomBytes: (size: number) => randomBytes(size) };
  const created = await createDemo(context, store);
  expect(created.map(({ name }) => name)).toEqual(['demo', 'Harbor Wellness']);
  for (const { name, clientId, clientSecret } of created) {
    const include = { tenant: true, secrets: true };
    const client = await db.prisma.apiClient.findFirst({ where: { clientId }, include });
    expect(client).toMatchObject({ isActive: true, tenant: { name, mode: 'sandbox' } });
    expect(client?.permissions).toEqual(expect.arrayContaining([...presets.partner]));
    expect(client?.secrets.map(({ secretHash }) => Buffer.from(secretHash))).toEqual([
      Buffer.from(hashClientSecret(clientSecret)),
    ]);
  }

  const { blobPath } = await db.prisma.document.findFirstOrThrow({ where: { tenantId: 'demo' } });
  expect((await readFile(join(dataDir, 'documents', blobPath))).toString()).toMatch(/^%PDF-[^]*%%EOF$/);

  const before = await storedCatalog(db, 'demo');
  expect(await createDemo(context, store)).toEqual([]);
  expect(await storedCatalog(db, 'demo')).toEqual(before);
});

it('createDemo gives the first tenant the encounters and patients of a sandbox, and the second none', async () => {
  const numbers = async (tenantId: string) =>
    (await db.prisma.encounter.findMany({ where: { tenantId } })).map(({ encounterNo }) => Number(encounterNo)).sort();
  expect(await numbers('demo')).toEqual([100_123, 100_124, 100_125, 100_126, 100_127, 100_131, 100_132, 100_133]);
  const patients = await db.prisma.patient.findMany({ where: { tenantId: 'demo' }, orderBy: { email: 'asc' } });
  expect(patients.map(({ email }) => email)).toEqual(['jane.miller@example.com', 'noah.reed@example.com']);
  expect([await numbers('harbor'), await db.prisma.patient.count({ where: { tenantId: 'harbor' } })]).toEqual([[], 0]);
});
