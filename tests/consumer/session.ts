import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/http.js';
import type { Sent, Target } from './consumer.js';

/** How to come by a target, and what it offers beyond the service itself. */
export interface Stage {
  readonly open: () => Promise<Target & { close(): Promise<void> }>;
  /** There is a document to upload. */
  readonly hasDocument: boolean;
  /** There is an order to ask for. */
  readonly hasOrder: boolean;
}

/** What the steps of the flow share. */
export interface Session extends Pick<Stage, 'hasDocument' | 'hasOrder'> {
  readonly target: Target;
  /** One request with the partner's token. */
  call(what: string, sent?: Sent): Promise<Answer>;
  /** The body of a token request. */
  login(more?: object): object;
  /** What one step hands to the next. */
  readonly found: { clinicId: string; treatmentId: string; patientId: string; documentId: string };
}

/** An id that nothing has. */
export const nobody = '01a05c32-5e80-7fff-bfff-ffffffffffff';

/** A patient that is not there yet. */
export const newPatient = () => ({
  firstName: 'María',
  lastName: 'López',
  email: `maria.${randomUUID()}@example.com`,
  dateOfBirth: '1985-02-11',
  countryCode: '+1',
  phone: '5125550177',
  gender: 'female',
});
