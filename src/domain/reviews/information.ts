import type { Bodies } from '../../contract.js';
import { fieldProblem, Problem } from '../../problem.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import {
  findDocuments,
  foreignDocuments,
  missingDocuments,
  refuse,
  refuseRepeatedIds,
  type FoundDocuments,
} from '../encounters/references.js';
import { actorOf } from './review.js';
import { informationEnds, waitsUntil } from '../encounters/schedule.js';
import { nextState } from '../encounters/states.js';
import { announce, changeEncounter, unclaimed } from '../encounters/transitions.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

/** Of one encounter. */
const MAX_ROUNDS = 20;

/**
 * Asks the partner for what is missing to decide; the claim ends.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other, too_many_records
 */
export function requestInformation(
  context: CallerContext,
  encounterNo: bigint,
  { reviewerRef, message }: Bodies['RequestInformationRequest'],
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (encounter, now) => ({
    event: 'ask',
    actor: actorOf(context, encounter, { reviewerRef }),
    set: { ...unclaimed, expiresAt: informationEnds(now) },
    async effects(transaction, asked) {
      const { tenantId, id: encounterId, expiresAt } = asked;
      if ((await transaction.db.encounterInformation.count({ where: { tenantId, encounterId } })) >= MAX_ROUNDS) {
        throw new Problem('too_many_records');
      }
      const row = { id: transaction.newId(), tenantId, encounterId, requestedAt: now, reviewerRef, message, expiresAt };
      await transaction.db.encounterInformation.create({ data: row });
      announce('encounter.information_requested')(transaction, asked);
    },
  }));
}

/**
 * What the partner sends in answer: the encounter goes back to its place in the queue.
 * @throws Problem validation_failed when there is nothing in it, or a document twice; encounter_not_found,
 * clinic_not_permitted, document_not_found; invalid_state, document_patient_mismatch. The first of them answers.
 */
export async function provideInformation(
  context: CallerContext,
  encounterNo: bigint,
  { additionalNotes, documentIds = [] }: Bodies['ProvideInformationRequest'],
): Promise<EncounterRecord> {
  if (!additionalNotes && documentIds.length === 0) {
    throw fieldProblem('validation_failed', '#', 'needs additionalNotes, documentIds or both', 'minProperties');
  }
  refuseRepeatedIds({ documentIds });
  return changeEncounter(context, encounterNo, async (encounter, now) => {
    const { tenantId, id: encounterId, patientId } = encounter;
    const documents = await findDocuments(context, documentIds);
    const missing = missingDocuments(documents);
    if (missing.length > 0) throw refuse(missing);
    nextState(encounter.status, 'inform', 'partner');
    const foreign = foreignDocuments(documents, patientId);
    if (foreign.length > 0) throw refuse(foreign);
    const open = { tenantId, encounterId, providedAt: null };
    const { expiresAt } = await context.db.encounterInformation.findFirstOrThrow({ where: open });
    return {
      event: 'inform',
      actor: 'partner',
      set: { expiresAt: waitsUntil(expiresAt, now) },
      async effects(transaction, informed) {
        const data = { providedAt: now, additionalNotes: additionalNotes ?? null };
        await transaction.db.encounterInformation.updateMany({ where: open, data });
        await addDocuments(transaction, informed, documents);
        announce('encounter.information_provided')(transaction, informed);
      },
    };
  });
}

/** After those that it has; one that it has stays where it is. */
async function addDocuments(
  { db }: TransactionContext,
  { tenantId, id: encounterId, documents }: EncounterRecord,
  sent: FoundDocuments,
): Promise<void> {
  const ids = sent.flatMap((document) => document?.id ?? []);
  const added = ids.filter((id) => !documents.some(({ documentId }) => documentId === id));
  const data = added.map((documentId, index) => {
    return { tenantId, encounterId, documentId, position: documents.length + index };
  });
  await db.encounterDocument.createMany({ data });
}
