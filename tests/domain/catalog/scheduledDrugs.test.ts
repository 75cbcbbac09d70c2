import { deaSchedules } from '../../../src/domain/catalog/deaSchedules.js';
import { faultsIn, planned, withProduct, withRx, write } from './catalogSample.js';

const [second, third, fourth, fifth] = deaSchedules.map(({ id }) => id);

it.each(deaSchedules)('catalog import makes a drug of $code synchronousOnly while it has that schedule', ({ id }) => {
  const scheduled = planned(withRx({ deaScheduleId: id.toUpperCase(), refills: 0 }));
  expect(scheduled.product).toMatchObject([{ columns: { synchronousOnly: true } }]);
  const unscheduled = planned(withRx({}), scheduled);
  expect(unscheduled.product).toMatchObject([{ state: 'updated', columns: { synchronousOnly: false } }]);
  expect(planned(withProduct({})).product).toMatchObject([{ columns: { synchronousOnly: false } }]);
});

it.each([
  ['a drug of C-II with 0 refills', { deaScheduleId: second, refills: 0, daysSupply: 200 }],
  ['five refills of C-III for 180 days', { deaScheduleId: third, refills: 5, daysSupply: 36 }],
  ['two refills of C-IV for 180 days', { deaScheduleId: fourth, refills: 2, daysSupply: 90 }],
  ['twelve refills of C-V', { deaScheduleId: fifth, refills: 12, daysSupply: 30 }],
  ['twelve refills of a drug without schedule', { refills: 12, daysSupply: 30 }],
])('catalog import accepts %s', (_name, change) => {
  expect(faultsIn(write(withRx(change)))).toEqual([]);
});
