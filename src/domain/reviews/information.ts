import { Prisma, type EncounterDocument } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { fieldProblem, Problem } from '../../problem.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import {
  findDocuments,
  missingDocuments,
  refuse,
  refuseRepeatedIds,
  unusableDocuments,
  type FoundDocuments,
} from '../encounters/references.js';
import { actorOf } from '../encounters/states.js';
import { informationEnds, waitsUntil } from '../encounters/schedule.js';
import { nextState } from '../encounters/states.js';
import { announce, changeEncounter, unclaimed } from '../encounters/transitions.js';
import { countFacts } from '../patients/facts.js';
import { findRows, insertRows, updateRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

/** Maximum of entries per encounter. */
const MAX_ROUNDS = 20;

/** The question's columns in an entry that the partner adds without being asked. */
const noQuestion = { reviewerRef: '', message: '' };

/**
 * Requests information from the partner and ends the claim.
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
      const { db } = transaction;
      const where = Prisma.sql`encounter_id = ${encounterId}::uuid`;
      if ((await findRows(db, tenantId, 'EncounterInformation', where)).length >= MAX_ROUNDS) {
        throw new Problem('too_many_records');
      }
      const row = { id: transaction.newId(), encounterId, requestedAt: now, reviewerRef, message, expiresAt };
      await insertRows(db, tenantId, 'EncounterInformation', [row]);
      return announce('encounter.information_requested')(transaction, asked);
    },
  }));
}

/**
 * Adds the partner's information to an open encounter. An answer to a request returns the encounter to its place in the
 * queue.
 * @throws Problem, in this order, validation_failed for an empty body or a repeated document; encounter_not_found,
 * clinic_not_permitted, document_not_found; invalid_state, document_patient_mismatch, document_withdrawn,
 * too_many_records
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
    const unusable = unusableDocuments(documents, patientId).find((faults) => faults.length > 0);
    if (unusable) throw refuse(unusable);
    const ofEncounter = Prisma.sql`encounter_id = ${encounterId}::uuid`;
    const rounds = await findRows(context.db, tenantId, 'EncounterInformation', ofEncounter);
    const question = rounds.find(({ providedAt }) => providedAt === null);
    if (!question && rounds.length >= MAX_ROUNDS) throw new Problem('too_many_records');
    const { expiresAt } = question ?? encounter;
    return {
      event: 'inform',
      actor: 'partner',
      set: { expiresAt: waitsUntil(expiresAt, now) },
      async effects(transaction, informed) {
        const { db, newId } = transaction;
        const answer = { providedAt: now, additionalNotes: additionalNotes ?? null };
        const entry = { id: newId(), encounterId, requestedAt: now, ...noQuestion, ...answer, expiresAt };
        if (!question) await insertRows(db, tenantId, 'EncounterInformation', [entry]);
        else await updateRows(db, tenantId, 'EncounterInformation', answer, Prisma.sql`id = ${question.id}::uuid`);
        await countFacts(transaction, informed);
        announce('encounter.information_provided')(transaction, informed);
        return { documents: await addDocuments(transaction, informed, documents) };
      },
    };
  });
}

/** Adds documents after those that the encounter already has. @returns all of its documents */
async function addDocuments(
  { db }: TransactionContext,
  { tenantId, id: encounterId, documents }: EncounterRecord,
  sent: FoundDocuments,
): Promise<EncounterDocument[]> {
  const ids = sent.flatMap((document) => document?.id ?? []);
  const added = ids.filter((id) => !documents.some(({ documentId }) => documentId === id));
  const rows = added.map((documentId, index) => {
    return { encounterId, documentId, position: documents.length + index };
  });
  await insertRows(db, tenantId, 'EncounterDocument', rows);
  return [...documents, ...rows.map((row) => ({ tenantId, ...row }))];
}
