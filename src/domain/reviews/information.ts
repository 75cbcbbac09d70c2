import type { Bodies } from '../../contract.js';
import { Problem } from '../../problem.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import {
  findDocuments,
  foreignDocuments,
  missingDocuments,
  refuse,
  refuseRepeatedIds,
} from '../encounters/references.js';
import { actorOf } from './review.js';
import { informationEnds, waitsUntil } from '../encounters/schedule.js';
import { nextState } from '../encounters/states.js';
import { announce, changeEncounter, unclaimed } from '../encounters/transitions.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

type InformationRequest = Bodies['RequestInformationRequest'];
type Information = Bodies['ProvideInformationRequest'];

/**
 * Asks the partner for what is missing to decide; the claim ends.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other
 */
export function requestInformation(
  context: CallerContext,
  encounterNo: bigint,
  { reviewerRef, message }: InformationRequest,
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (encounter, now) => ({
    event: 'ask',
    actor: actorOf(context, encounter, { reviewerRef }),
    set: { ...unclaimed, expiresAt: informationEnds(now) },
    async effects(transaction, asked) {
      const { tenantId, id: encounterId, expiresAt } = asked;
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
  body: Information,
): Promise<EncounterRecord> {
  const { additionalNotes, documentIds = [] } = body;
  if (!additionalNotes && documentIds.length === 0) throw nothingSent();
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
        await addDocuments(
          transaction,
          informed,
          documents.flatMap((document) => document?.id ?? []),
        );
        announce('encounter.information_provided')(transaction, informed);
      },
    };
  });
}

function nothingSent(): Problem {
  const errors = [{ pointer: '#', code: 'minProperties', detail: 'needs additionalNotes, documentIds or both' }];
  return new Problem('validation_failed', undefined, { errors });
}

/** After those that it has; one that it has stays where it is. */
async function addDocuments(
  { db }: TransactionContext,
  { tenantId, id: encounterId, documents }: EncounterRecord,
  documentIds: readonly string[],
): Promise<void> {
  const added = documentIds.filter((id) => !documents.some(({ documentId }) => documentId === id));
  const data = added.map((documentId, index) => {
    return { tenantId, encounterId, documentId, position: documents.length + index };
  });
  await db.encounterDocument.createMany({ data });
}
