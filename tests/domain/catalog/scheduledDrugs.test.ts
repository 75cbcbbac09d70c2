import { deaSchedules } from '../../../src/domain/catalog/deaSchedules.js';
import { openCatalogHarness } from './catalogHarness.js';
import { withRx } from './catalogSample.js';

const { exported, imported, stored } = await openCatalogHarness();
const [second, third, fourth, fifth] = deaSchedules.map(({ id }) => id);
const isSynchronousOnly = async () => (await stored()).products[0]?.synchronousOnly;

it.each(deaSchedules)(
  'catalog import makes a drug of $code synchronousOnly while it has that schedule',
  async ({ id }) => {
    await imported(withRx({ deaScheduleId: id.toUpperCase(), refills: 0 }));
    expect(await isSynchronousOnly()).toBe(true);
    const { products } = await imported(await exported());
    expect(products).toMatchObject({ updated: 0, unchanged: 1 });
    await imported(withRx({}));
    expect(await isSynchronousOnly()).toBe(false);
  },
);

it.each([
  ['no refill of C-II', { deaScheduleId: second, refills: 0, daysSupply: 200 }],
  ['five refills of C-III for 180 days', { deaScheduleId: third, refills: 5, daysSupply: 36 }],
  ['two refills of C-IV for 180 days', { deaScheduleId: fourth, refills: 2, daysSupply: 90 }],
  ['twelve refills of C-V', { deaScheduleId: fifth, refills: 12, daysSupply: 30 }],
  ['twelve refills of a drug without schedule', { refills: 12, daysSupply: 30 }],
])('catalog import accepts %s', async (_name, change) => {
  await imported(withRx(change));
  expect((await stored()).products[0]?.rx).toMatchObject(change);
});
