import type { components } from '../../generated/client/contract.js';

type State = components['schemas']['Encounter']['status'];

/** The states that can follow each state of an encounter. */
export const following: Readonly<Record<string, readonly State[]>> = {
  pending_review: ['in_review', 'completed', 'cancelled', 'expired'],
  in_review: ['pending_review', 'awaiting_information', 'completed', 'denied', 'cancelled'],
  awaiting_information: ['pending_review', 'cancelled', 'expired'],
  completed: [],
  denied: [],
  cancelled: [],
  expired: [],
};
