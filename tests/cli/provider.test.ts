import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Prisma } from '../../generated/prisma/client.js';
import type { Models } from '../../src/adapters/database/database.js';
import { newPartner, type Partner } from '../support/factories.js';
import { whileBlocked } from '../support/lockWaits.js';
import { openOperator } from './operator.js';

const { harness, run } = await openOperator();
const partner = await newPartner(harness);

const texas = { state: 'TX', number: 'T-1', expiresOn: '2027-12-31', asynchronousAllowed: true };
const identity = { reviewerRef: 'ada', name: 'Ada Lane', npi: '1234567893', credential: 'MD', deaNumber: 'AB1234563' };
const ada = { ...identity, isActive: true, licenses: [texas] };

async function importingTo({ tenantId }: Partner, ...providers: object[]) {
  const path = join(harness.dataDir, 'providers.json');
  await writeFile(path, JSON.stringify({ providers }, null, 1));
  return run('provider', 'import', path, '--tenant', tenantId, '--json');
}
const importing = (...providers: object[]) => importingTo(partner, ...providers);
const countsOf = async (...providers: object[]) => JSON.parse((await importing(...providers)).stdout);
async function stored() {
  const { tenantId } = partner;
  const include = { licenses: { orderBy: { state: 'asc' } } } as const;
  return harness.domain.db.prisma.provider.findMany({ where: { tenantId }, include, orderBy: { reviewerRef: 'asc' } });
}

it('provider import creates and updates the listed providers, is idempotent, and keeps all others', async () => {
  expect(await countsOf(ada)).toEqual({ created: 1, updated: 0, unchanged: 0 });
  expect(await countsOf(ada)).toEqual({ created: 0, updated: 0, unchanged: 1 });
  const ben = { reviewerRef: 'ben', name: 'Ben Ode', npi: '1245319599', licenses: [] };
  expect(await countsOf(ben)).toEqual({ created: 1, updated: 0, unchanged: 0 });
  const moved = { ...ada, isActive: false, licenses: [{ state: 'AZ', number: 'A-1', expiresOn: '2027-06-30' }] };
  expect(await countsOf(moved, ben)).toEqual({ created: 0, updated: 1, unchanged: 1 });
  expect(await stored()).toMatchObject([
    { ...identity, isActive: false, licenses: [{ state: 'AZ', asynchronousAllowed: false }] },
    { reviewerRef: 'ben', credential: null, deaNumber: null, isActive: true, licenses: [] },
  ]);
  for (const change of [{ credential: 'NP' }, { deaNumber: 'FM1234563' }, {}]) {
    expect(await countsOf({ ...moved, ...change })).toEqual({ created: 0, updated: 1, unchanged: 0 });
  }
});

it('provider import waits for the lock on its tenant, and compares its file with the rows that were committed meanwhile', async () => {
  const { tenantId } = partner;
  await importing(ada);
  const lock = Prisma.sql`SELECT FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const rename = (holder: Models) => holder.provider.updateMany({ where: { tenantId }, data: { name: 'Other' } });
  const counts = await whileBlocked(harness, lock, () => countsOf(ada), rename);
  expect(counts).toEqual({ created: 0, updated: 1, unchanged: 0 });
});

it('provider import names faults with pointer and line, and imports no provider', async () => {
  const before = await stored();
  const faulty = [
    { ...ada, name: 'Other', npi: '1234567890' },
    { ...ada, reviewerRef: 'cy', npi: '12345' },
    { ...ada, reviewerRef: 'di', licenses: [{ ...texas, expiresOn: '2027-02-30' }] },
    { ...ada, reviewerRef: 'cy', license: [] },
    { ...ada, reviewerRef: 'ed', credential: 'Dr' },
    { ...ada, reviewerRef: 'fay', deaNumber: 'AB123456' },
  ];
  const { code, stderr } = await importing(...faulty);
  expect(code).toBe(1);
  const pointers = JSON.parse(stderr).error.faults.map(({ pointer }: { pointer: string }) => pointer);
  const expected = ['1/npi', '2/licenses/0/expiresOn', '3/license', '4/credential', '5/deaNumber'];
  expect(pointers).toEqual(expected.map((pointer) => `/providers/${pointer}`));
  expect(JSON.parse((await importing({ ...ada, npi: '1234567890' })).stderr).error.faults).toMatchObject([
    { pointer: '/providers/0/npi', line: 6, message: 'is not an NPI: its check digit is wrong' },
  ]);
  const twice = await importing({ ...ada, licenses: [texas, texas] }, { ...ada, name: 'Other' });
  expect(JSON.parse(twice.stderr).error.faults).toMatchObject([
    { pointer: '/providers/0/licenses/1', message: 'repeats the state and number of an earlier license' },
    { pointer: '/providers/1', message: 'repeats the reviewerRef of an earlier provider' },
  ]);
  expect(JSON.parse((await importing({ ...ada, deaNumber: 'AB1234564' })).stderr).error.faults).toMatchObject([
    { pointer: '/providers/0/deaNumber', message: 'is not a DEA number: its check digit is wrong' },
  ]);
  expect(await stored()).toEqual(before);
});

it.each(['credential', 'deaNumber'])(
  'provider import warns if an active provider of a live tenant has no %s',
  async (member) => {
    const [live, sandbox] = [await newPartner(harness), await newPartner(harness, 'sandbox')];
    const provider = { ...ada, [member]: undefined };
    const warning = { notice: expect.stringMatching(`^Warning: 1 active provider lacks .*${live.tenantId}`) };
    expect(JSON.parse((await importingTo(live, provider)).stderr)).toEqual(warning);
    for (const [tenant, entry] of [
      [sandbox, provider],
      [live, { ...provider, isActive: false }],
      [live, ada],
    ] as const) {
      expect((await importingTo(tenant, entry)).stderr).toBe('');
    }
  },
);
