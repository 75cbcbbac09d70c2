import { createHash } from 'node:crypto';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { showEncounter } from '../encounters/lookup.js';
import type { ReadContext } from '../transactions/transaction.js';
import { readChart, type Chart } from './chart.js';

/** A part of a chart that has its own digest in the version. */
type ChartPart = NonNullable<Schemas['Problem']['changed']>[number];

/** The version of a chart: a digest for each part, so that a comparison can name the parts that changed. */
export const chartVersion = (chart: Chart): string => Object.values(partsOf(chart)).map(digest).join('.');

/** The present version of an encounter's chart. Unless the patient is locked, the chart may change right afterwards. */
export async function presentChartVersion(context: ReadContext, encounterNo: bigint): Promise<string> {
  return chartVersion(await presentChart(context, encounterNo));
}

/**
 * Checks that the chart is still the one that was read. @throws Problem chart_changed with the changed parts
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

/**
 * The content of each part. It does not depend on the present time: an approval or an encounter that expires does not
 * change the chart.
 */
function partsOf(chart: Chart): Record<ChartPart, unknown> {
  const { encounter, patient, treatments, documents, earlierReviews, endedEncounters, possibleDuplicates } = chart;
  const cancelled = endedEncounters.filter(({ status }) => status === 'cancelled');
  const { firstName, lastName, dateOfBirth, sex, stateId, gfeStateId, guardian } = patient;
  const { medicalHistory, notes, insuranceInfo } = patient;
  // Sort by id: the original order depends on denials, whose decisions are another part.
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
    // Include prescriptions: an update of the encounter takes them from the catalog again.
    treatments: treatments.map(({ productId, rx }) => [productId, rx]),
  };
}
