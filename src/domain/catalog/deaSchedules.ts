/** The schedules of controlled substances, by the `deaScheduleId` of a prescription. */
export const deaSchedules = [
  { id: '01a05c32-5e80-7000-8000-00000000dea2', code: 'C-II', name: 'Schedule II' },
  { id: '01a05c32-5e80-7000-8000-00000000dea3', code: 'C-III', name: 'Schedule III' },
  { id: '01a05c32-5e80-7000-8000-00000000dea4', code: 'C-IV', name: 'Schedule IV' },
  { id: '01a05c32-5e80-7000-8000-00000000dea5', code: 'C-V', name: 'Schedule V' },
] as const;

export type DeaSchedule = (typeof deaSchedules)[number]['code'];

/** The schedule of a prescription; null without prescription, or if its id names no schedule. */
export function deaScheduleOf(rx: { readonly deaScheduleId: string } | null): DeaSchedule | null {
  return deaSchedules.find(({ id }) => id === rx?.deaScheduleId)?.code ?? null;
}

/** Why the law refuses the refills of a scheduled prescription (21 CFR 1306.12, 1306.22); null if it allows them. */
export function refillFault(
  schedule: DeaSchedule | null,
  { refills, daysSupply }: { readonly refills: number; readonly daysSupply: number },
): string | null {
  if (schedule === 'C-II') return refills > 0 ? 'must be 0 for a drug of schedule C-II' : null;
  if (schedule !== 'C-III' && schedule !== 'C-IV') return null;
  if (refills > 5) return `must be at most 5 for a drug of schedule ${schedule}`;
  if (refills * daysSupply <= 180) return null;
  return `times daysSupply must be at most 180 days for a drug of schedule ${schedule}`;
}
