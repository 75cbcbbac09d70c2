import { addMaria, seedCast } from '../support/cast.js';
import { operationOf, responseExamples, type Schema } from '../support/contract.js';
import { membersOf } from '../support/growth.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

// An id that a response shows can be looked up, or its description says that it is opaque.

const harness = await openHarness();
const { token } = await seedCast(harness);
await addMaria(harness);

const records = [
  '/clinics',
  '/clients',
  '/tenants/products',
  '/documents',
  '/encounters',
  '/orders',
  '/webhook-endpoints',
];
const { schema: { enum: named = [] } = {} } = operationOf('listReferenceData').parameters[0] ?? {};
const lists = [...named, 'states', 'dea-schedules'].map((list) => `/reference/${list}`);
const listed = new Set<string>();
beforeAll(async () => {
  const answers = await Promise.all(lists.map((list) => call(harness, `GET ${list}`, { token })));
  for (const { body } of answers) for (const { id, countryId } of body.data) listed.add(id).add(countryId);
});

/** The ids in a value, with their places and what the contract says of them. */
function idsIn(schema: Schema, value: unknown, place: string): { place: string; id: string; description: string }[] {
  if (Array.isArray(value)) return value.flatMap((item) => idsIn(schema.items ?? {}, item, place));
  const isId =
    schema.format === 'uuid' || ['encounter_id', 'gfe_no', 'order_no'].includes(place.split('.').at(-1) ?? '');
  if (typeof value === 'string' || typeof value === 'number') {
    return isId ? [{ place, id: String(value), description: schema.description ?? '' }] : [];
  }
  const members = membersOf(schema);
  return Object.entries(Object(value) as object).flatMap(([name, member]) =>
    idsIn(members[name] ?? {}, member, `${place}.${name}`),
  );
}

it('every kind of id in the examples of responses can be looked up, or is described as opaque', async () => {
  const json = responseExamples.filter(({ mediaType }) => mediaType === 'application/json');
  const shown = json.flatMap(({ operationId, schema, value }) => idsIn(schema, value, operationId));
  const unclear = shown.filter(({ id, description }) => !listed.has(id) && !/opaque/i.test(description));
  const found = new Set<string>();
  for (const id of new Set(unclear.map((one) => one.id))) {
    const answers = await Promise.all(records.map((path) => call(harness, `GET ${path}/${id}`, { token })));
    if (answers.some(({ status }) => status === 200)) found.add(id);
  }
  expect(found.size).toBeGreaterThan(20);
  // The records that an example creates do not exist, so one id of the same kind is enough.
  const kindOf = ({ place, description }: (typeof shown)[number]): string =>
    `${place.split('.').at(-1)}: ${description}`;
  const kinds = new Set(unclear.filter(({ id }) => found.has(id)).map(kindOf));
  expect([...new Set(unclear.map(kindOf))].filter((kind) => !kinds.has(kind))).toEqual([]);
});
