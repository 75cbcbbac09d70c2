import type { EncounterTreatment } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import { deaScheduleOf } from '../domain/catalog/deaSchedules.js';
import type { Prescription } from '../domain/catalog/prescription.js';
import { unitOf } from '../domain/catalog/referenceData.js';

/** The prescription that the encounter froze for a treatment; null if the treatment needs none. */
export function prescriptionView(treatment: EncounterTreatment): Schemas['Prescription'] | null {
  const rx = treatment.rx as Prescription | null;
  return rx && { deaSchedule: deaScheduleOf(rx), quantityUnit: unitOf(rx), ...rx };
}
