import { createHash } from 'node:crypto';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { showEncounter } from '../encounters/lookup.js';
import type { ReadContext } from '../transactions/transaction.js';
import { readChart, type Chart } from './chart.js';

/** A part of a chart whose change makes another version. */
type ChartPart = NonNullable<Schemas['Problem']['changed']>[number];

/** The version of a chart: one digest for each part, so that a later comparison can name the parts that changed. */
export const chartVersion = (chart: Chart): string => Object.values(partsOf(chart)).map(digest).join('.');

/** The version of the chart of an encounter as it is now. Without the lock of the patient, it may change at once. */
export async function presentChartVersion(context: ReadContext, encounterNo: bigint): Promise<string> {
  return chartVersion(await presentChart(context, encounterNo));
}

/**
 * @throws Problem chart_changed with the parts, if the chart has another version than the one that was read
 */
export async function requireSameChart(context: ReadContext, encounterNo: bigint, version: string): Promise<void> {
  const chart = await presentChart(context, encounterNo);
  const read = version.split('.');
  const changed = Object.entries(partsOf(chart)).flatMap(([part, facts], index) =>
    digest(facts) === read[index] ? [] : [part as ChartPart],
  );
  if (changed.length > 0) throw new Problem('chart_changed', undefined, { extra: { changed } });
}

const presentChart = async (context: ReadContext, encounterNo: bigint): Promise<Chart> =>
  readChart(context, await showEncounter(context, encounterNo));

const digest = (facts: unknown): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12);

/** What the parts consist of. Nothing in it changes by time alone: an approval that runs out, or an
 * encounter that expires, does not change the chart. */
function partsOf(chart: Chart): Record<ChartPart, unknown> {
  const { encounter, patient, treatments, documents, earlierReviews, endedEncounters, possibleDuplicates } = chart;
  const cancelled = endedEncounters.filter(({ status }) => status === 'cancelled');
  const { firstName, lastName, dateOfBirth, sex, stateId, gfeStateId, guardian } = patient;
  const { medicalHistory, notes, insuranceInfo } = patient;
  // Sorted: their order depends on denials, which are decisions.
  const others = possibleDuplicates.map(({ id }) => id).sort();
  return {
    patient: [firstName, lastName, dateOfBirth, sex, stateId, gfeStateId, guardian, insuranceInfo, ...others],
    medicalHistory,
    notes: [notes, encounter.additionalNotes],
    documents: documents.map(({ id }) => id),
    information: [encounter, ...cancelled].flatMap(({ information }) => information),
    decisions: [
      encounter.gfeItems.map(({ status }) => status),
      earlierReviews.map(({ id, reviewNotes, gfeItems, addenda }) => [
        id,
        reviewNotes,
        gfeItems.map((item) => [
          item.status,
          ...[item.denialReason, item.rationale, item.declinedTreatmentIds, item.revocationReason],
        ]),
        addenda.map((addendum) => addendum.text),
      ]),
      cancelled.map(({ id, cancelReason }) => [id, cancelReason]),
      ...possibleDuplicates.flatMap(({ denials }) => denials.map(({ id }) => id)),
    ],
    // An update of the encounter takes their prescriptions from the catalog again (D-282).
    treatments: treatments.map(({ productId, rx }) => [productId, rx]),
  };
}
