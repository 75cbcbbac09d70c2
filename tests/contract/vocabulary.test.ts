import { Client } from 'pg';
import type { EncounterState, EventType } from '../../src/contract.js';
import { encounterTransitions, nextState } from '../../src/domain/encounters/states.js';
import type { EncounterActor, EncounterEvent } from '../../src/domain/encounters/states.js';
import { recordEvent } from '../../src/domain/events/record.js';
import type { TransactionContext } from '../../src/domain/transactions/transaction.js';
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

interface Transition {
  readonly to: EncounterState;
  readonly by: readonly EncounterActor[];
}

/**
 * Compiled, never run: the compiler reports a mark whose line compiles. This proves that code cannot name a state or an
 * event that the contract does not list.
 */
export function doesNotCompile(context: TransactionContext): void {
  const place = { tenantId: '', clinicId: null };
  const numbers = { encounter_id: 1, gfe_no: '' };
  // @ts-expect-error not a state of an encounter
  const state: EncounterState = 'finished';
  // @ts-expect-error not an event of the feed
  const type: EventType = 'encounter.finished';
  // @ts-expect-error not a state of an encounter
  nextState('finished', 'claim', 'provider');
  // @ts-expect-error not an event of an encounter
  nextState('in_review', 'finish', 'claimant');
  // @ts-expect-error not an actor
  nextState('in_review', 'approve', 'doctor');
  // @ts-expect-error a state is missing
  const missing: Record<EncounterState, object> = { pending_review: {}, in_review: {}, completed: {}, denied: {} };
  const withUnknown = {
    ...encounterTransitions,
    // @ts-expect-error the target is not a state
    in_review: { approve: { to: 'finished', by: ['claimant'] } },
  } satisfies Record<EncounterState, Partial<Record<EncounterEvent, Transition>>>;
  // @ts-expect-error not an event of the feed
  recordEvent(context, place, 'encounter.finished', numbers);
  // @ts-expect-error a member is missing
  recordEvent(context, place, 'encounter.cancelled', numbers);
  // @ts-expect-error an excess member
  recordEvent(context, place, 'encounter.released', { ...numbers, reason: 'other' });
  const named = { ...numbers, firstName: 'Jane' };
  // @ts-expect-error a variable with an excess member
  recordEvent(context, place, 'encounter.released', named);
  // @ts-expect-error the data of another event
  recordEvent(context, place, 'gfe.expired', numbers);
  // @ts-expect-error not a value of the list
  recordEvent(context, place, 'webhook.disabled', { endpointId: '', reason: 'slow' });
  expect([state, type, missing, withUnknown]).toBeDefined();
}
