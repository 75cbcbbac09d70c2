import type { Encounter } from '../../../generated/prisma/client.js';

/** The partner's own id of an encounter, for the data of its events; absent if the encounter has none. */
export const referenceOf = ({ reference }: Pick<Encounter, 'reference'>): { reference?: string } =>
  reference === null ? {} : { reference };

/** The identifiers of an encounter that all its events contain. */
export function numbersOf({
  encounterNo,
  gfeNo,
  ...encounter
}: Pick<Encounter, 'encounterNo' | 'gfeNo' | 'reference'>) {
  return { encounter_id: Number(encounterNo), gfe_no: gfeNo, ...referenceOf(encounter) };
}
