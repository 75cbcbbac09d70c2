import type { Operation } from './operation.js';
import { linkDocument } from '../domain/documents/links.js';
import { openChart } from '../domain/reviews/chart.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { chartView } from '../views/chartView.js';

/**
 * GET /encounters/{encounter_id}/chart: for the provider that holds the claim. The audit records the patient even if
 * access is denied.
 */
export const getChart: Operation<'getChart'> = async ({ path, query }, context) => {
  const encounter = await showEncounter(context, path.encounter_id);
  context.audit.patientId = encounter.patientId;
  const chart = await openChart(context, encounter, query);
  const links = await Promise.all(chart.documents.map((document) => linkDocument(context, document)));
  return { status: 200, body: chartView(chart, links, context.now()) };
};
