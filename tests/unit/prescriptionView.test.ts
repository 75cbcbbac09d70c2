import type { EncounterTreatment } from '../../generated/prisma/client.js';
import { deaSchedules } from '../../src/domain/catalog/deaSchedules.js';
import { prescriptionView } from '../../src/views/prescriptionView.js';

const shown = (rx: object | null) => prescriptionView({ rx } as EncounterTreatment);
const gram = '01a05c32-5e80-7000-8000-0000000003a2';

it.each(deaSchedules)('prescriptionView names $code and the unit beside their ids', ({ id, code }) => {
  const rx = { refills: 0, deaScheduleId: id, quantityUnitOfMeasureId: gram };
  expect(shown(rx)).toEqual({ ...rx, deaSchedule: code, quantityUnit: 'Gram' });
});

it('prescriptionView shows neither schedule nor unit for ids that name none, and null without a prescription', () => {
  const rx = { deaScheduleId: '01a05c32-5e80-7000-8000-00000000dea0', quantityUnitOfMeasureId: 'own' };
  expect(shown(rx)).toEqual({ ...rx, deaSchedule: null, quantityUnit: null });
  expect(shown(null)).toBeNull();
});
