import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { createClient, type Event } from '../../src/client/index.js';
import { operations } from '../support/contract.js';
import { newDocument, newPatient, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { completedEncounter } from '../support/reviews.js';
import { newSandbox } from '../support/sandbox.js';
import { newWebhooks, receiveExample } from '../support/webhooks.js';

const harness = await openHarness();

const partner = await newSandbox(harness);
const { clientId, clientSecret } = partner;
const ces = createClient({ baseUrl: harness.baseUrl, clientId, clientSecret });
const { email } = patientBody();
await newPatient(harness, partner, { email });
await completedEncounter(harness, partner);
const { patientId, clinicId, treatmentIds } = await completedEncounter(harness, partner);
for (let count = 0; count < 2; count += 1) await newDocument(harness, partner, patientId);
const { endpoint_id } = await newWebhooks(harness, partner);
await receiveExample(harness, partner);
await addCheckpoints(harness.domain);
/** Parameters that a list needs. One operation limits listRequests, which would otherwise grow with each request. */
const needed: Readonly<Record<string, object>> = {
  findPatients: { email },
  listWebhookDeliveries: { endpoint_id },
  listReferenceData: { list: 'units' },
  listRequests: { operationId: 'createEncounter' },
  getClearances: { id: patientId, clinicId, treatmentIds },
  listPatientDocuments: { id: patientId },
  listRenewals: { expiring_before: '2030-01-01' },
};

const lists = operations.flatMap(({ method, path, operationId, parameters, responses }) => {
  const { properties } = responses['200']?.content?.['application/json']?.schema ?? {};
  if (method !== 'GET' || properties?.['data']?.type !== 'array') return [];
  const isPaged = parameters.some(({ name }) => name === 'limit');
  // has_more without next_cursor: the response offers no next page.
  const isHead = 'has_more' in properties && !('next_cursor' in properties);
  return [{ operationId, path, isPaged, isHead }];
});

it.each(lists)(
  'pages() reads each element on the pages of $operationId once, and ends',
  async ({ operationId, path, ...list }) => {
    const one = list.isPaged && { limit: 1 };
    const elements = await first(100, path, { ...needed[operationId], ...(list.isPaged && { limit: 100 }) });
    if (list.isPaged && operationId !== 'findPatients') expect(elements.length).toBeGreaterThan(1);
    expect(elements).not.toEqual([]);
    const expected = list.isHead ? elements.slice(0, 1) : elements;
    expect(await first(elements.length + 1, path, { ...needed[operationId], ...one })).toEqual(expected);
  },
);

/** The first elements of a list. */
async function first(count: number, path: string, parameters: object): Promise<unknown[]> {
  const elements: unknown[] = [];
  const pages = ces.pages as (path: string, parameters: object) => AsyncGenerator<{ data: unknown[] }>;
  for await (const { data } of pages(path, parameters)) if (elements.push(...data) >= count) break;
  return elements.slice(0, count);
}

it('a list requests no page before its elements are read', async () => {
  let requests = 0;
  const fetch = (request: Request) => ((requests += 1), globalThis.fetch(request));
  const counted = createClient({ baseUrl: harness.baseUrl, clientId, clientSecret, fetch });
  for await (const _ of counted.clinics.list({ limit: 1 })) break;
  expect(requests).toBe(['the token', 'one page'].length);
});

it('pages() returns the cursor from which a later iteration continues', async () => {
  const types: Event['type'][] = ['encounter.completed', 'order.created'];
  const read: string[] = [];
  let kept: string | undefined;
  for (let process = 0; process < 4; process += 1) {
    for await (const page of ces.pages('/events', { types, limit: 3, ...(kept && { cursor: kept }) })) {
      read.push(...page.data.map(({ id }) => id));
      kept = page.next_cursor;
      break;
    }
  }
  const all: string[] = [];
  for await (const { id } of ces.events.list({ types })) all.push(id);
  expect(all.length).toBeGreaterThan(3);
  expect(read).toEqual(all);
});
