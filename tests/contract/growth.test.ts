import { contract, eventSchemas, responseExamples, schemaFaults } from '../support/contract.js';
import { grown, laterType, laterValue } from '../support/growth.js';

it('every JSON response example with new members, values and types of events passes its schema (D-160)', () => {
  const json = responseExamples.filter(({ mediaType }) => mediaType.endsWith('json'));
  const later = json.map(({ title, schema, value }) => ({ title, schema, body: grown(schema, value) }));
  const refused = later.map(({ title, schema, body }) => ({ title, faults: schemaFaults(schema, body) }));
  expect(refused.filter(({ faults }) => faults.length > 0)).toEqual([]);
  const texts = JSON.stringify(later);
  for (const text of [laterValue, laterType, 'addedLater']) expect(texts.split(text).length).toBeGreaterThan(5);
});

it('an event is valid as in its example, invalid with a known type and empty data, and valid with an unknown type', () => {
  const { Event: event = {} } = contract.components.schemas;
  const faultsOf = (value: object): string[] => schemaFaults(event, { id: crypto.randomUUID(), ...value });
  const timestamp = '2026-11-20T16:10:00.000Z';
  for (const [type, { examples = [] }] of Object.entries(eventSchemas)) {
    expect(examples.flatMap((example) => faultsOf(Object(example)))).toEqual([]);
    expect(faultsOf({ type, timestamp, data: {} })).not.toEqual([]);
  }
  expect(faultsOf({ type: laterType, timestamp, data: {} })).toEqual([]);
});

it('no response schema has an enum, except for the types of events', () => {
  const closed = responseExamples.filter(({ schema }) =>
    /"enum":(?!\["patient\.created")/.test(JSON.stringify(schema)),
  );
  expect(closed.map(({ title }) => title)).toEqual([]);
});
