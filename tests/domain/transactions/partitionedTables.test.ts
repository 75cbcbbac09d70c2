import { purgeIdempotencyKeys } from '../../../src/domain/sweeps/purges.js';
import { newSandbox, reset } from '../../support/sandbox.js';
import type { Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';

const harness = await openHarness();
const [partner, other] = [await newSandbox(harness), await newSandbox(harness)];
for (const statement of [
  'CREATE TABLE partitioned (LIKE idempotency_key INCLUDING ALL) PARTITION BY LIST (tenant_id)',
  `CREATE TABLE partition_one PARTITION OF partitioned FOR VALUES IN ('${partner.tenantId}')`,
  'CREATE TABLE partition_other PARTITION OF partitioned DEFAULT',
  'DROP TABLE idempotency_key',
  'ALTER TABLE partitioned RENAME TO idempotency_key',
])
  await harness.domain.db.prisma.$executeRawUnsafe(statement);
beforeEach(() => harness.domain.db.prisma.$executeRaw`TRUNCATE idempotency_key`);

async function useKeys({ clientId, tenantId }: Partner, count: number, age: string): Promise<void> {
  await harness.domain.db.prisma.$executeRaw`
    INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint, created_at)
    SELECT tenant_id, id, 'createPatient', n, sha256(''), now() - ${age}::text::interval
    FROM api_client, generate_series(1, ${count}) AS n WHERE tenant_id = ${tenantId} AND client_id = ${clientId}`;
}

const keysOf = ({ tenantId }: Partner): Promise<number> =>
  harness.domain.db.prisma.idempotencyKey.count({ where: { tenantId } });

it('resetSandbox deletes no row of another tenant from a partitioned table', async () => {
  for (const owner of [partner, other]) await useKeys(owner, 3, '1 minute');
  expect((await reset(harness, partner)).status).toBe(204);
  expect([await keysOf(partner), await keysOf(other)]).toEqual([0, 3]);
});

it('purgeIdempotencyKeys deletes the old rows of one tenant from a partitioned table, and no young row of another', async () => {
  await useKeys(partner, 3, '25 hours');
  await useKeys(other, 3, '1 minute');
  expect(await purgeIdempotencyKeys(harness.domain)).toBe(3);
  expect([await keysOf(partner), await keysOf(other)]).toEqual([0, 3]);
});
