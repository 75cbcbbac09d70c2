import { Client } from 'pg';
import { encounterTransitions } from '../../src/domain/encounters/states.js';
import { contract, eventSchemas } from '../support/contract.js';
import { createTestDatabase } from '../support/postgres.js';

const database = await createTestDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
afterAll(async () => {
  await client.end();
  await database.drop();
});

const listed = (schema: string, property: string): readonly string[] =>
  [...(contract.components.schemas[schema]?.properties?.[property]?.['x-extensible-enum'] ?? [])].sort();
async function stored(type: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`SELECT unnest(enum_range(NULL::${type}))::text AS name`);
  return rows.map(({ name }) => name).sort();
}

describe('names of states and events', () => {
  it.each([
    ['encounter_status', 'Encounter', 'status'],
    ['gfe_item_status', 'GfeItem', 'status'],
    ['order_status', 'Order', 'order_status'],
  ])('are the same in %s of the database and in the contract', async (type, schema, property) => {
    expect(listed(schema, property)).not.toEqual([]);
    expect(await stored(type)).toEqual(listed(schema, property));
  });

  it('are the same in the schemas of events, the webhooks, the event filter and the database', async () => {
    const types = Object.keys(eventSchemas).sort();
    const { schemas } = contract.components;
    expect(types.length).toBeGreaterThan(20);
    for (const type of types) expect(schemas[type]).toEqual(eventSchemas[type]);
    for (const [type, { post }] of Object.entries(contract.webhooks)) {
      expect(post.requestBody.content['application/json']?.schema).toEqual(eventSchemas[type]);
    }
    expect(Object.keys(contract.webhooks).sort()).toEqual(types);
    expect([...(schemas['RequestedEventType']?.enum ?? [])].sort()).toEqual(types);
    expect([...(schemas['EventType']?.['x-extensible-enum'] ?? [])].sort()).toEqual(types);
    expect(await stored('event_type')).toEqual(types);
  });

  it('are the same in the table of transitions and in the contract', () => {
    expect(Object.keys(encounterTransitions).sort()).toEqual(listed('Encounter', 'status'));
  });
});
