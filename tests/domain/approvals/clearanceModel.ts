// A model of clearances, written from the rule and not from the service's code.

import { groupOf, type Encounter, type Item, type Life, type Status, type Treatment } from './reuseModel.js';

/** A request for an item as it was known at a time. */
interface Fact {
  readonly encounter: Encounter;
  readonly item: Item;
  readonly status: Status;
  /** The time of the decision, else of the request. */
  readonly time: number;
  readonly end: number | null;
}

/** A decision counts from its time on, and a request until it is cancelled or expires. */
function factOf(encounter: Encounter, item: Item, knownAt: number): Fact[] {
  const { createdAt, closedAt } = encounter;
  const { decidedAt, endedAt, ruleEnd, validUntil } = item;
  if (item.reuses !== null || createdAt > knownAt || (closedAt ?? Infinity) <= knownAt) return [];
  if (decidedAt === null || decidedAt > knownAt) {
    return [{ encounter, item, status: 'pending_review', time: createdAt, end: null }];
  }
  const wasInForce = endedAt !== null && endedAt > knownAt;
  const known = wasInForce ? { status: 'approved' as const, end: ruleEnd } : { status: item.status, end: validUntil };
  return [{ encounter, item, time: decidedAt, ...known }];
}

export interface ModelClearance {
  readonly reason: string;
  readonly encounter: Encounter | null;
  readonly validUntil: number | null;
  readonly decidedAt: number | null;
  readonly factsChanged: boolean;
}

/** Whether a treatment is cleared at a clinic at a moment, by what was known at another one. */
export function clearanceOf(
  life: Life,
  clinic: number,
  treatment: Treatment,
  { knownAt, at }: { readonly knownAt: number; readonly at: number },
): ModelClearance {
  const facts = life.encounters
    .filter(({ request }) => request.clinic === clinic)
    .flatMap((encounter) => encounter.items.flatMap((item) => factOf(encounter, item, knownAt)))
    .filter(({ item }) => item.group === groupOf(treatment))
    .sort((one, other) => one.time - other.time);
  const excepts = ({ item, status }: Fact): boolean => status !== 'pending_review' && item.excepted.includes(treatment);
  const since = facts.slice(facts.findLastIndex(excepts) + 1);
  const ends = ({ end }: Fact): number => end ?? Infinity;
  const given = since.filter((fact) => fact.status === 'approved' && ends(fact) > at);
  // The one that ends last; of equal ends the latest.
  const last = given.filter((fact) => given.every((other) => ends(other) <= ends(fact))).at(-1);
  const fact = last ?? facts.at(-1);
  if (!fact)
    return { reason: 'never_requested', encounter: null, validUntil: null, decidedAt: null, factsChanged: false };
  const { encounter, item, status, time, end } = fact;
  const isOver = status === 'approved' && ends(fact) <= at;
  return {
    reason: excepts(fact) ? 'declined' : isOver ? 'expired' : status === 'pending_review' ? 'pending' : status,
    encounter,
    validUntil: end,
    decidedAt: status === 'pending_review' ? null : time,
    factsChanged: last !== undefined && item.facts !== life.facts,
  };
}
