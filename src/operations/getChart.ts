import type { Operation } from './operation.js';
import { linkDocument } from '../domain/documents/links.js';
import { openChart } from '../domain/reviews/chart.js';
import { chartView } from '../views/chartView.js';

/** GET /encounters/{encounter_id}/chart: for the provider that holds the claim. */
export const getChart: Operation<'getChart'> = async ({ path, query }, context) => {
  const chart = await openChart(context, path.encounter_id, query);
  const links = await Promise.all(chart.documents.map((document) => linkDocument(context, document)));
  return { status: 200, body: chartView(chart, links, context.now()) };
};
