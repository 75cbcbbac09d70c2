import type { Operation } from './operation.js';
import * as revocation from '../domain/reviews/afterReview.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/revoke: revokes approvals of a completed encounter. */
export const revokeApprovals: Operation<'revokeApprovals'> = (input, context) =>
  encounterChange(context, input, revocation.revokeApprovals);
