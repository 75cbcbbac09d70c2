import { newEncounter, newProduct, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller } from './http.js';

/** An encounter record as an answer has it. */
type Encounter = Answer['body'];

/** An item of an encounter, which a review decides. */
interface Item {
  readonly categoryId: string;
  readonly subcategoryId: string;
  readonly status: string;
}

/** The provider that reviews by default. */
export const reviewer = '1234567893';

/** Returns the members of a decision other than its item. */
export type Decide = (item: { readonly categoryId: string }, index: number) => Readonly<Record<string, unknown>>;

export const approve: Decide = () => ({ decision: 'approved' });
export const deny: Decide = () => ({ decision: 'denied', reason: 'Contraindicated.' });

/** The version of no chart, for reviews that are refused before their version counts. */
export const noChartVersion = '0.0-0.0-0.d41d8cd98f00.000000000000.000000000000';

/** The version of an encounter's chart, or {@link noChartVersion} if the caller may not read it. */
async function chartVersionOf(harness: Harness, { token }: Caller, encounter: Encounter): Promise<string> {
  const { encounter_id, reviewerRef } = encounter;
  const reference = encodeURIComponent(reviewerRef ?? reviewer);
  const { body } = await call(harness, `GET /encounters/${encounter_id}/chart?reviewerRef=${reference}`, { token });
  return body.chartVersion ?? noChartVersion;
}

/** A body for the review of an encounter as its chart is now: one decision for each pending item. */
export async function reviewBody(
  harness: Harness,
  caller: Caller,
  encounter: Encounter,
  decide: Decide = approve,
): Promise<Record<string, unknown>> {
  const { gfe_data, reviewType, claimedAt } = encounter;
  const chartVersion = await chartVersionOf(harness, caller, encounter);
  const pending: Item[] = gfe_data.filter(({ status }: Item) => status === 'pending_review');
  const decisions = pending.map((item, index) => {
    const { categoryId, subcategoryId } = item;
    return { categoryId, subcategoryId, ...decide(item, index) };
  });
  const visit = { startedAt: claimedAt, endedAt: claimedAt };
  return { reviewerRef: reviewer, chartVersion, decisions, ...(reviewType === 'synchronous' ? { visit } : {}) };
}

/** Sends an action on an encounter; returns the record, or throws if the action fails. */
async function act(
  harness: Harness,
  { token }: Caller,
  { encounter_id }: Encounter,
  action: string,
  json: object,
): Promise<Encounter> {
  const { status, body } = await call(harness, `POST /encounters/${encounter_id}/${action}`, { token, json });
  if (status !== 200)
    throw new Error(`POST …/${action} answered ${status}, not 200: read a refusal by call(): ${JSON.stringify(body)}`);
  return body;
}

/** Claims an encounter over HTTP; returns the record. */
export function claim(harness: Harness, caller: Caller, encounter: Encounter, changes = {}): Promise<Encounter> {
  return act(harness, caller, encounter, 'claim', { reviewerRef: reviewer, ...changes });
}

/** Claims and reviews an encounter over HTTP; returns the record. */
export async function reviewed(
  harness: Harness,
  caller: Caller,
  encounter: Encounter,
  decide: Decide = approve,
): Promise<Encounter> {
  const claimed = await claim(harness, caller, encounter);
  return act(harness, caller, claimed, 'review', await reviewBody(harness, caller, claimed, decide));
}

/** An encounter without the members that only its retrieval and charts show. */
export function recordOf(encounter: Encounter): Encounter {
  const { visitUrl: _url, information: _information, addenda: _addenda, ...record } = encounter;
  return record;
}

/** A new encounter that is claimed. */
export async function claimedEncounter(harness: Harness, partner: Partner, changes = {}, claiming = {}) {
  return claim(harness, partner, await newEncounter(harness, partner, changes), claiming);
}

/** A new encounter whose partner was asked for information. */
export async function askedEncounter(harness: Harness, partner: Partner, changes = {}): Promise<Encounter> {
  const encounter = await claimedEncounter(harness, partner, changes);
  const json = { reviewerRef: reviewer, message: 'Which medication?' };
  return act(harness, partner, encounter, 'request-information', json);
}

/** A new encounter with all items approved, so that it has an order. */
export async function completedEncounter(harness: Harness, partner: Partner, changes = {}): Promise<Encounter> {
  return reviewed(harness, partner, await newEncounter(harness, partner, changes));
}

/**
 * A completed encounter whose order has two lines, each of a different pharmacy.
 * @param rx the line that is a prescription
 */
export async function orderOfTwo(
  harness: Harness,
  partner: Partner,
  rx: 0 | 1,
  pharmacyIds: readonly [string, string] = [harness.domain.newId(), harness.domain.newId()],
  changes = {},
): Promise<Encounter> {
  const treatmentIds: string[] = [];
  for (const [index, pharmacyId] of pharmacyIds.entries()) {
    treatmentIds.push(await newProduct(harness, partner, { pharmacyId, isRx: index === rx }));
  }
  return completedEncounter(harness, partner, { treatmentIds, ...changes });
}

/** Revokes all approvals of an encounter over HTTP; returns the record. */
export function revoked(harness: Harness, caller: Caller, encounter: Encounter): Promise<Encounter> {
  const items = encounter.gfe_data.map(({ categoryId, subcategoryId }: Item) => ({ categoryId, subcategoryId }));
  return act(harness, caller, encounter, 'revoke', { reviewerRef: reviewer, items, reason: 'Overlooked.' });
}

/** Cancels an encounter over HTTP; returns the record. */
export function cancelled(harness: Harness, caller: Caller, encounter: Encounter, reason = 'patient_request') {
  return act(harness, caller, encounter, 'cancel', { reason });
}

/** Type and data of the events of an encounter, in the order of the feed. */
export async function eventsOf({ domain }: Harness, { encounter_id }: Encounter): Promise<[string, Encounter][]> {
  // Except for fixtures, a database assigns no encounter number twice.
  const rows = await domain.db.prisma.$queryRaw<{ type: string; data: Encounter }[]>`
    SELECT type::text, data FROM event WHERE data->>'encounter_id' = ${String(encounter_id)} ORDER BY position`;
  return rows.map(({ type, data }) => [type, data]);
}

/** The types of the events of an encounter, except its creation. */
export async function eventTypesOf(harness: Harness, encounter: Encounter): Promise<string[]> {
  const events = await eventsOf(harness, encounter);
  return events.map(([type]) => type).filter((type) => type !== 'encounter.created');
}

/** Sends an action on an encounter a minute later; expects the changed record, also as stored, and the latest event. */
export async function expectAction(
  harness: Harness,
  { token }: Caller,
  encounter: Encounter,
  [action, json]: readonly [string, object],
  [type, data = {}]: readonly [string, object?],
  changeAt: (now: Date) => object,
): Promise<void> {
  const { encounter_id, gfe_no, version } = encounter;
  harness.clock.advance(60);
  const { now } = harness.clock;
  const { status, body } = await call(harness, `POST /encounters/${encounter_id}/${action}`, { token, json });
  const changed = { ...encounter, version: Number(version) + 1, updatedAt: now.toISOString(), ...changeAt(now) };
  expect([status, body]).toEqual([200, changed]);
  expect(recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token })).body)).toEqual(body);
  expect((await eventsOf(harness, encounter)).at(-1)).toEqual([type, { encounter_id, gfe_no, ...data }]);
}
