import { cast } from '../support/cast.js';
import { eventSchemas, responseExamples, schemaFaults } from '../support/contract.js';

it('the example of each event conforms to its schema without further members, and names only known ids unless its type begins with webhook.', () => {
  const named = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{22}|(?:GFE|ORD)-\d+|(?<="encounter_id":)\d+/g;
  const known = new Set(JSON.stringify([cast, responseExamples.map(({ value }) => value)]).match(named));
  const ofPartners = Object.entries(eventSchemas).filter(([type]) => !type.startsWith('webhook.'));
  const strangers = JSON.stringify(ofPartners.map(([, { examples }]) => examples)).match(named) ?? [];
  expect(strangers.length).toBeGreaterThan(40);
  expect(strangers.filter((id) => !known.has(id))).toEqual([]);
  for (const [type, schema] of Object.entries(eventSchemas)) {
    const [example] = schema.examples ?? [];
    expect({ type, faults: schemaFaults({ ...schema, additionalProperties: false }, example) }).toEqual({
      type,
      faults: [],
    });
  }
});
