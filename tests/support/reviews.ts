import { newEncounter, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer } from './http.js';

/** An encounter record as an answer has it. */
type Encounter = Answer['body'];

/** The provider that reviews by default. */
export const reviewer = '1234567893';

/** Returns the members of a decision other than its item. */
export type Decide = (item: { readonly categoryId: string }, index: number) => Readonly<Record<string, unknown>>;

export const approve: Decide = () => ({ decision: 'approved' });
export const deny: Decide = () => ({ decision: 'denied', reason: 'Contraindicated.' });

/** A body for the review of an encounter: one decision for each pending item. */
export function reviewBody(
  { gfe_data, reviewType, claimedAt }: Encounter,
  decide: Decide = approve,
): Record<string, unknown> {
  const waiting = gfe_data.filter(({ status }: { status: string }) => status === 'pending_review');
  const visit = { startedAt: claimedAt, endedAt: claimedAt };
  return {
    reviewerRef: reviewer,
    decisions: waiting.map((item: { categoryId: string; subcategoryId: string }, index: number) => ({
      categoryId: item.categoryId,
      subcategoryId: item.subcategoryId,
      ...decide(item, index),
    })),
    ...(reviewType === 'synchronous' ? { visit } : {}),
  };
}

/** Claims an encounter over HTTP; returns the record. */
export async function claim(
  harness: Harness,
  { token }: Pick<Partner, 'token'>,
  { encounter_id }: Encounter,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<Encounter> {
  const json = { reviewerRef: reviewer, ...changes };
  return succeed(await call(harness, `POST /encounters/${encounter_id}/claim`, { token, json }));
}

/** Claims and reviews an encounter over HTTP; returns the record. */
export async function reviewed(
  harness: Harness,
  partner: Pick<Partner, 'token'>,
  encounter: Encounter,
  decide: Decide = approve,
): Promise<Encounter> {
  const claimed = await claim(harness, partner, encounter);
  const request = { token: partner.token, json: reviewBody(claimed, decide) };
  return succeed(await call(harness, `POST /encounters/${claimed.encounter_id}/review`, request));
}

/** An encounter without the members that only its retrieval shows. */
export function recordOf({
  visitUrl: _url,
  information: _information,
  addenda: _addenda,
  ...record
}: Encounter): Encounter {
  return record;
}

/** A new encounter that is claimed. */
export async function claimedEncounter(
  harness: Harness,
  partner: Partner,
  changes = {},
  claiming = {},
): Promise<Encounter> {
  return claim(harness, partner, await newEncounter(harness, partner, changes), claiming);
}

/** A new encounter whose partner was asked for information. */
export async function askedEncounter(harness: Harness, partner: Partner, changes = {}): Promise<Encounter> {
  const { encounter_id } = await claimedEncounter(harness, partner, changes);
  const request = { token: partner.token, json: { reviewerRef: reviewer, message: 'Which medication?' } };
  return succeed(await call(harness, `POST /encounters/${encounter_id}/request-information`, request));
}

/** A new encounter with all items approved, so that it has an order. */
export async function completedEncounter(harness: Harness, partner: Partner, changes = {}): Promise<Encounter> {
  return reviewed(harness, partner, await newEncounter(harness, partner, changes));
}

/** Cancels an encounter over HTTP; returns the record. */
export async function cancelled(
  harness: Harness,
  { token }: Pick<Partner, 'token'>,
  { encounter_id }: Encounter,
  reason = 'patient_request',
): Promise<Encounter> {
  return succeed(await call(harness, `POST /encounters/${encounter_id}/cancel`, { token, json: { reason } }));
}

function succeed({ status, body }: Answer): Encounter {
  if (status !== 200) throw new Error(`not done: ${status} ${body?.code}`);
  return body;
}

/** Type and data of the events of an encounter, in the order of the feed. */
export async function eventsOf({ domain }: Harness, { encounter_id }: Encounter): Promise<[string, Encounter][]> {
  // Except for fixtures, encounter numbers are unique across tenants.
  const rows = await domain.db.prisma.$queryRaw<{ type: string; data: Encounter }[]>`
    SELECT type::text, data FROM event WHERE data->>'encounter_id' = ${String(encounter_id)} ORDER BY position`;
  return rows.map(({ type, data }) => [type, data]);
}

/** The types of the events of an encounter since its creation. */
export async function eventTypesOf(harness: Harness, encounter: Encounter): Promise<string[]> {
  const events = await eventsOf(harness, encounter);
  return events.map(([type]) => type).filter((type) => type !== 'encounter.created');
}
