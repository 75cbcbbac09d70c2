import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPartner, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runProgram } from './runProgram.js';

let database: TestDatabase;
let harness: Harness;
let partner: Partner;
let folder: string;
let path: string;
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  partner = await newPartner(harness);
  folder = await mkdtemp(join(tmpdir(), 'providers-'));
  path = join(folder, 'providers.json');
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await harness.close();
  await database.drop();
});

const texas = { state: 'TX', number: 'T-1', expiresOn: '2027-12-31', asynchronousAllowed: true };
const ada = { reviewerRef: 'ada', name: 'Ada Lane', npi: '1234567893', isActive: true, licences: [texas] };

async function importing(...providers: object[]) {
  await writeFile(path, JSON.stringify({ providers }, null, 1));
  const environment = { DATABASE_URL: database.url };
  return runProgram(environment, 'provider', 'import', path, '--tenant', partner.tenantId, '--json');
}
const countsOf = async (...providers: object[]) => JSON.parse((await importing(...providers)).stdout);
async function stored() {
  const { tenantId } = partner;
  const include = { licences: { orderBy: { state: 'asc' } } } as const;
  return harness.domain.db.prisma.provider.findMany({ where: { tenantId }, include, orderBy: { reviewerRef: 'asc' } });
}

it('provider import creates and updates the listed providers, is idempotent, and keeps all others', async () => {
  expect(await countsOf(ada)).toEqual({ created: 1, updated: 0, unchanged: 0 });
  expect(await countsOf(ada)).toEqual({ created: 0, updated: 0, unchanged: 1 });
  const ben = { reviewerRef: 'ben', name: 'Ben Ode', npi: '1245319599', licences: [] };
  expect(await countsOf(ben)).toEqual({ created: 1, updated: 0, unchanged: 0 });
  const moved = { ...ada, isActive: false, licences: [{ state: 'AZ', number: 'A-1', expiresOn: '2027-06-30' }] };
  expect(await countsOf(moved, ben)).toEqual({ created: 0, updated: 1, unchanged: 1 });
  expect(await stored()).toMatchObject([
    { reviewerRef: 'ada', isActive: false, licences: [{ state: 'AZ', asynchronousAllowed: false }] },
    { reviewerRef: 'ben', isActive: true, licences: [] },
  ]);
});

it('provider import names every fault with its line, and imports no provider', async () => {
  const before = await stored();
  const faulty = [
    { ...ada, name: 'Other', npi: '1234567890' },
    { ...ada, reviewerRef: 'cy', npi: '12345' },
    { ...ada, reviewerRef: 'di', licences: [{ ...texas, expiresOn: '2027-02-30' }] },
    { ...ada, reviewerRef: 'cy', licence: [] },
  ];
  const { code, stderr } = await importing(...faulty);
  expect(code).toBe(1);
  const { error } = JSON.parse(stderr);
  const faults = error.faults.map(({ pointer }: { pointer: string }) => pointer);
  expect(faults).toEqual([
    '/providers/1/npi',
    '/providers/2/licences/0/expiresOn',
    '/providers/3',
    '/providers/3/licence',
  ]);
  expect(JSON.parse((await importing({ ...ada, npi: '1234567890' })).stderr).error.faults).toMatchObject([
    { pointer: '/providers/0/npi', line: 6, message: 'is no NPI: its check digit is wrong' },
  ]);
  expect(await stored()).toEqual(before);
});
