import type { EncounterInformation } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { fieldProblem, Problem } from '../../problem.js';
import { refuseRepeatedIds } from '../encounters/creation.js';
import { announced, encounterCommand, moved, unclaimed, withNews } from '../encounters/command.js';
import type { EncounterRecord, EncounterState } from '../encounters/record.js';
import {
  findDocuments,
  missingDocuments,
  refuse,
  unusableDocuments,
  type FoundDocuments,
} from '../encounters/references.js';
import { informationEnds, waitsUntil } from '../encounters/schedule.js';
import { actorOf, nextState } from '../encounters/states.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';

/** Maximum of entries per encounter. */
const MAX_ROUNDS = 20;

/** The question's columns in an entry that the partner adds without being asked. */
const noQuestion = { reviewerRef: '', message: '' };

/**
 * Requests information from the partner and ends the claim.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other, too_many_records
 */
export const requestInformation = (
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['RequestInformationRequest'],
): Promise<EncounterRecord> => encounterCommand(context, encounterNo, (state, at) => decideQuestion(state, body, at));

/** @throws Problem invalid_state, claimed_by_other, too_many_records */
export function decideQuestion(
  state: EncounterState,
  { reviewerRef, message }: Bodies['RequestInformationRequest'],
  at: Moment,
): Decision<EncounterState> {
  const { tenantId, id: encounterId, information, expiresAt } = state.encounter;
  const actor = actorOf(at, state.encounter, { reviewerRef });
  const asked = moved(state.encounter, 'ask', actor, { ...unclaimed, expiresAt: informationEnds(at.now) }, at.now);
  if (information.length >= MAX_ROUNDS) throw new Problem('too_many_records');
  const question: EncounterInformation = {
    ...{ id: at.newId(), tenantId, encounterId, requestedAt: at.now, reviewerRef, message, expiresAt },
    ...{ providedAt: null, additionalNotes: null },
  };
  const encounter = { ...asked, information: [...information, question] };
  return { state: { ...state, encounter }, events: [announced(encounter, 'encounter.information_requested')] };
}

/** The documents that a partner sends along. */
interface WithDocuments {
  readonly sent: FoundDocuments;
}

/**
 * Adds the partner's information to an open encounter. An answer to a request returns the encounter to its place in the
 * queue.
 * @throws Problem, in this order, validation_failed for an empty body or a repeated document; encounter_not_found,
 * clinic_not_permitted; and those of {@link decideInformation}
 */
export function provideInformation(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['ProvideInformationRequest'],
): Promise<EncounterRecord> {
  const { documentIds = [], additionalNotes } = body;
  refuseRepeatedIds(body);
  if (documentIds.length === 0 && !additionalNotes?.trim()) {
    throw fieldProblem('validation_failed', '#', 'needs documentIds or non-blank additionalNotes', 'minProperties');
  }
  return encounterCommand<WithDocuments>(
    context,
    encounterNo,
    (state, at) => decideInformation(state, additionalNotes ?? null, at),
    async (transaction) => ({ sent: await findDocuments(transaction, documentIds) }),
  );
}

/** @throws Problem document_not_found; invalid_state, document_patient_mismatch, document_withdrawn, too_many_records */
export function decideInformation(
  state: EncounterState & WithDocuments,
  additionalNotes: string | null,
  { now, newId }: Moment,
): Decision<EncounterState> {
  const { encounter: before, sent } = state;
  const missing = missingDocuments(sent);
  if (missing.length > 0) throw refuse(missing);
  nextState(before.status, 'inform', 'partner');
  const unusable = unusableDocuments(sent, before.patientId).find((faults) => faults.length > 0);
  if (unusable) throw refuse(unusable);
  const { tenantId, id: encounterId, information } = before;
  const question = information.find(({ providedAt }) => providedAt === null);
  if (!question && information.length >= MAX_ROUNDS) throw new Problem('too_many_records');
  const { expiresAt } = question ?? before;
  const answer = { providedAt: now, additionalNotes };
  const entry = { id: newId(), tenantId, encounterId, requestedAt: now, ...noQuestion, ...answer, expiresAt };
  const encounter = {
    ...moved(before, 'inform', 'partner', { expiresAt: waitsUntil(expiresAt, now) }, now),
    information: question
      ? information.map((one) => (one === question ? { ...question, ...answer } : one))
      : [...information, entry],
    documents: withDocuments(before, sent),
  };
  const patient = withNews(state, 'information');
  return { state: { ...state, encounter, patient }, events: [announced(encounter, 'encounter.information_provided')] };
}

/** The encounter's documents, followed by the sent documents that it does not have yet. */
function withDocuments({ tenantId, id: encounterId, documents }: EncounterRecord, sent: FoundDocuments) {
  const ids = sent.flatMap((document) => document?.id ?? []);
  const added = ids.filter((id) => !documents.some(({ documentId }) => documentId === id));
  const rows = added.map((documentId, index) => ({
    tenantId,
    encounterId,
    documentId,
    position: documents.length + index,
  }));
  return [...documents, ...rows];
}
