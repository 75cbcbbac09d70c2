import { newCategory, newClinic, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { newSandbox, reset } from '../../support/sandbox.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

/** Compares the stored totals of each tenant with counted rows. */
async function expectExact(): Promise<void> {
  const rows = await harness.domain.db.prisma.$queryRaw<Record<'kept' | 'counted', number[]>[]>`
    SELECT ARRAY[active_clinics, inactive_clinics, active_products, inactive_products] AS kept,
      ARRAY[(SELECT count(*) FROM clinic WHERE tenant_id = t.id AND is_active),
        (SELECT count(*) FROM clinic WHERE tenant_id = t.id AND NOT is_active),
        (SELECT count(*) FROM product WHERE tenant_id = t.id AND is_active AND NOT is_deleted),
        (SELECT count(*) FROM product WHERE tenant_id = t.id AND NOT is_active AND NOT is_deleted)]::int[] AS counted
    FROM tenant AS t`;
  expect(rows.map(({ kept }) => kept)).toEqual(rows.map(({ counted }) => counted));
}

const stats = async ({ token }: Partner): Promise<number[]> => {
  const { body } = await call(harness, 'GET /clinics', { token });
  return [body.pagination.total, body.stats.total, body.stats.active, body.stats.inactive];
};

it('the totals of listClinics and listProducts stay exact during concurrent changes of every kind, including rollbacks', async () => {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const group = await newCategory(harness, partner);
  const changes = Array.from({ length: 20 }, async (_, number) => {
    const isActive = number % 3 > 0;
    const clinicId = await newClinic(harness, partner, { isActive });
    await newProduct(harness, partner, { ...group, isActive });
    const id = { tenantId_id: { tenantId, id: clinicId } };
    if (number % 4 === 0) await db.prisma.clinic.update({ where: id, data: { isActive: !isActive } });
    if (number % 5 === 0) {
      await db.prisma
        .$transaction(
          async (inside) => {
            await inside.clinicLocation.deleteMany({ where: { tenantId, clinicId } });
            await inside.clinic.delete({ where: id });
            if (number % 10 === 0) throw new Error('rolled back');
          },
          { maxWait: 20_000 },
        )
        .catch(() => undefined);
    }
  });
  await Promise.all(changes);
  const some = { tenantId, isActive: true, sku: { endsWith: '1' } };
  await db.prisma.product.updateMany({ where: some, data: { isDeleted: true } });
  await db.prisma.product.updateMany({ where: { tenantId, isActive: false }, data: { isActive: true } });
  await expectExact();
  expect((await stats(partner)).slice(0, 2)).toEqual([18, 18]);
});

it('the totals of listClinics and listProducts stay exact when a sandbox is created and reset during requests', async () => {
  const sandbox = await newSandbox(harness);
  await expectExact();
  const before = await stats(sandbox);
  await newClinic(harness, sandbox, { isActive: false });
  const lists = Array.from({ length: 4 }, () => stats(sandbox));
  const [answer] = await Promise.all([reset(harness, sandbox), ...lists]);
  expect(answer.status).toBe(204);
  expect(await stats(sandbox)).toEqual(before);
  await expectExact();
});
