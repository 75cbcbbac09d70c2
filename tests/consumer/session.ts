import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/http.js';
import type { Sent, Target } from './consumer.js';

/** Opens a target, and says which optional data it has. */
export interface Stage {
  readonly open: () => Promise<Target & { close(): Promise<void> }>;
  /** Whether the target has a document to upload. */
  readonly hasDocument: boolean;
  /** Whether the target has an order to read. */
  readonly hasOrder: boolean;
}

/** The state that the steps of the flow share. */
export interface Session extends Pick<Stage, 'hasDocument' | 'hasOrder'> {
  readonly target: Target;
  /** One request with the partner's token. */
  call(target: string, sent?: Sent): Promise<Answer>;
  /** The body of a token request. */
  login(more?: object): object;
  /** Ids that a step passes to the next ones. */
  readonly ids: { clinicId: string; treatmentId: string; patientId: string; documentId: string };
}

/** A well-formed id that no record has. */
export const unknownId = '01a05c32-5e80-7fff-bfff-ffffffffffff';

/** A patient with a new e-mail address. */
export const newPatient = () => ({
  firstName: 'María',
  lastName: 'López',
  email: `maria.${randomUUID()}@example.com`,
  dateOfBirth: '1985-02-11',
  countryCode: '+1',
  phone: '5125550177',
  gender: 'female',
});
