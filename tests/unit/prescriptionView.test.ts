import type { EncounterTreatment } from '../../generated/prisma/client.js';
import { deaSchedules } from '../../src/domain/catalog/deaSchedules.js';
import { prescriptionView } from '../../src/views/prescriptionView.js';

const shown = (rx: object | null) => prescriptionView({ rx } as EncounterTreatment);

it.each(deaSchedules)('prescriptionView names $code beside its id', ({ id, code }) => {
  expect(shown({ refills: 0, deaScheduleId: id })).toEqual({ refills: 0, deaScheduleId: id, deaSchedule: code });
});

it('prescriptionView shows no schedule for an id that names none, and null without a prescription', () => {
  const deaScheduleId = '01a05c32-5e80-7000-8000-00000000dea0';
  expect(shown({ deaScheduleId })).toEqual({ deaScheduleId, deaSchedule: null });
  expect(shown(null)).toBeNull();
});
