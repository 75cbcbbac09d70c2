import { Prisma, type Encounter, type Patient } from '../../../generated/prisma/client.js';
import { identityColumns } from './verification.js';

/** The patient as identified at a review: name, birth date (YYYY-MM-DD) and guardian. */
export type Identity = Pick<Patient, 'firstName' | 'lastName' | 'guardian'> & { readonly dateOfBirth: string };

/** The identity in a patient's row. */
export function identityIn({ firstName, lastName, dateOfBirth, guardian }: Patient): Identity {
  return { firstName, lastName, dateOfBirth: dateOfBirth.toISOString().slice(0, 10), guardian };
}

/** The identity stored at an encounter's review, else the present one, and whether name or birth date differ today. */
export function reviewedIdentity(encounter: Pick<Encounter, 'reviewedIdentity'>, patient: Patient) {
  const present = identityIn(patient);
  const identity = (encounter.reviewedIdentity as Identity | null) ?? present;
  return { identity, isIdentityChanged: identityColumns.some((column) => identity[column] !== present[column]) };
}

/** Text that replaces required texts of erased rows, such as reasons of decisions, which must not be empty. */
export const ERASED = 'erased';
export const ERASED_DOMAIN = `@${ERASED}.invalid`;

/** An SQL condition: whether the patient in a row of `client`, given by its alias, was erased. */
export const isErased = (alias: string): Prisma.Sql => {
  const patient = Prisma.raw(alias);
  return Prisma.sql`(${patient}.email_key = ${patient}.id || ${ERASED_DOMAIN})`;
};
