import type { Encounter } from '../../../generated/prisma/client.js';

/** The partner's own id of an encounter in the data of its events; absent if it has none. */
export const referenceOf = ({ reference }: Pick<Encounter, 'reference'>): { reference?: string } =>
  reference === null ? {} : { reference };

/** The identifiers that every event of an encounter has. */
export function numbersOf({
  encounterNo,
  gfeNo,
  ...encounter
}: Pick<Encounter, 'encounterNo' | 'gfeNo' | 'reference'>) {
  return { encounter_id: Number(encounterNo), gfe_no: gfeNo, ...referenceOf(encounter) };
}
