import { deaSchedules } from '../../src/domain/catalog/deaSchedules.js';
import { newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);

describe('listDeaSchedules 200', () => {
  it('lists the schedules, the strictest first, and listProducts shows the code of each id', async () => {
    const { status, body } = await call(harness, 'GET /reference/dea-schedules', { token: partner.token });
    expect([status, body]).toEqual([200, { data: deaSchedules }]);
    expect(deaSchedules.map(({ code }) => code)).toEqual(['C-II', 'C-III', 'C-IV', 'C-V']);
    const { productRx } = harness.domain.db.prisma;
    await newProduct(harness, partner, { isRx: true });
    const shown: unknown[] = [];
    for (const { id: deaScheduleId } of [...deaSchedules, { id: harness.domain.newId() }]) {
      await productRx.updateMany({ where: { tenantId: partner.tenantId }, data: { deaScheduleId } });
      const list = await call(harness, 'GET /tenants/products', { token: partner.token });
      shown.push(list.body.data[0].productRx.deaSchedule);
    }
    expect(shown).toEqual(['C-II', 'C-III', 'C-IV', 'C-V', null]);
  });
});
