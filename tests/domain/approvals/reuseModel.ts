// A model of which approvals clear a new request, written from the rules and not from the service's
// code: it counts the facts about a patient, and reuses an approval only if there was none since.

export type Status = 'pending_review' | 'approved' | 'denied' | 'cancelled' | 'expired' | 'superseded' | 'revoked';

/** Treatments: reviewed every year, reviewed once, and a prescription that is reviewed every year. */
export type Group = 'yearly' | 'once' | 'prescription';

export interface Request {
  readonly clinic: number;
  readonly wanted: readonly Group[];
  readonly hasNotes: boolean;
  /** Whether it refers to the latest document. */
  readonly hasDocument: boolean;
  readonly isLive: boolean;
  readonly isScheduled: boolean;
}

export interface Item {
  readonly group: Group;
  status: Status;
  decidedAt: number | null;
  validUntil: number | null;
  /** Index of the encounter whose approval it reuses. */
  readonly reuses: number | null;
  /** The number of facts when a provider approved it. */
  facts: number | null;
}

export interface Encounter {
  readonly request: Request;
  /** Indexes of the patient's documents. */
  readonly documents: readonly number[];
  readonly items: readonly Item[];
  state: 'open' | 'completed' | 'denied' | 'cancelled' | 'expired';
}

/** One patient. */
export interface Life {
  readonly encounters: Encounter[];
  /** The number of documents. */
  documents: number;
  /** The number of facts that are news for every earlier approval. */
  facts: number;
}

export const newLife = (): Life => ({ encounters: [], documents: 0, facts: 0 });

const yearAfter = (time: number): number => {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear() + 1, date.getUTCMonth()];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(time).setUTCFullYear(year, month, Math.min(date.getUTCDate(), lastDay));
};

/** The status in a response. */
export const shown = ({ status, validUntil }: Item, now: number): Status =>
  status === 'approved' && validUntil !== null && validUntil <= now ? 'expired' : status;
const isInForce = (item: Item, now: number): boolean => shown(item, now) === 'approved';
const isGiven = (item: Item): boolean => item.status === 'approved' && item.reuses === null;

export function create(life: Life, request: Request, now: number): Encounter {
  const document = life.documents - 1;
  const documents = request.hasDocument && document >= 0 ? [document] : [];
  const items = request.wanted.map((group): Item => {
    const approval = reusable(life, request, group, documents.length > 0, now);
    if (approval === null) {
      return { group, status: 'pending_review', decidedAt: null, validUntil: null, reuses: null, facts: null };
    }
    const { item, index } = approval;
    return { group, status: 'approved', decidedAt: now, validUntil: item.validUntil, reuses: index, facts: null };
  });
  const state = items.every(({ status }) => status === 'approved') ? 'completed' : 'open';
  if (request.hasNotes || documents.length > 0) life.facts += 1;
  const encounter: Encounter = { request, documents, items, state };
  life.encounters.push(encounter);
  return encounter;
}

type Reusable = Readonly<{ item: Item; index: number }>;

/** Of the approvals since which there was no fact, the one that ends last; with equal ends, the latest. */
function reusable(life: Life, request: Request, group: Group, hasDocument: boolean, now: number): Reusable | null {
  const { isLive, isScheduled, hasNotes, clinic } = request;
  if (group === 'prescription' || hasNotes || hasDocument || (isLive && isScheduled)) return null;
  const candidates = life.encounters.flatMap((encounter, index): Reusable[] => {
    const item = encounter.items.find((each) => each.group === group);
    if (!item || item.decidedAt === null || encounter.state !== 'completed') return [];
    const fits = (!isLive && !isScheduled) || encounter.request.isLive;
    const holds = isGiven(item) && isInForce(item, now) && now < yearAfter(item.decidedAt);
    if (!fits || !holds || encounter.request.clinic !== clinic) return [];
    return item.facts === life.facts ? [{ item, index }] : [];
  });
  const end = ({ item }: Reusable): number => item.validUntil ?? Infinity;
  const isAfter = (first: Reusable, second: Reusable): boolean =>
    end(first) === end(second) ? (first.item.decidedAt ?? 0) > (second.item.decidedAt ?? 0) : end(first) > end(second);
  return candidates.reduce<Reusable | null>((last, each) => (last && isAfter(last, each) ? last : each), null);
}

/** Decides the pending items; `approves` has one entry for each. */
export function review(life: Life, encounter: Encounter, approves: readonly boolean[], now: number): void {
  const waiting = encounter.items.filter(({ status }) => status === 'pending_review');
  const denied = new Set(waiting.filter((_, index) => !approves[index]).map(({ group }) => group));
  const facts = (life.facts += denied.size);
  for (const item of waiting) {
    const isApproved = !denied.has(item.group);
    Object.assign(item, { status: isApproved ? 'approved' : 'denied', decidedAt: now });
    if (isApproved) Object.assign(item, { validUntil: item.group === 'once' ? null : yearAfter(now), facts });
  }
  encounter.state = encounter.items.some((item) => isInForce(item, now)) ? 'completed' : 'denied';
  for (const item of life.encounters.flatMap(({ items }) => items)) {
    if (denied.has(item.group) && isInForce(item, now)) Object.assign(item, { status: 'superseded', validUntil: now });
  }
}

export function end(encounter: Encounter, state: 'cancelled' | 'expired'): void {
  encounter.state = state;
  for (const item of encounter.items) if (item.status === 'pending_review') item.status = state;
}

/** Revokes the approvals of an encounter that are in force, with all items that reuse them. */
export function revoke(life: Life, encounter: Encounter, now: number): void {
  const { encounters } = life;
  life.facts += 1;
  const own = encounters.indexOf(encounter);
  for (const revoked of encounter.items.filter((item) => isInForce(item, now))) {
    const given = revoked.reuses ?? own;
    for (const [index, { items }] of encounters.entries()) {
      for (const item of items) {
        const isSame = item.group === revoked.group && (item.reuses ?? index) === given;
        if (isSame && isInForce(item, now)) Object.assign(item, { status: 'revoked', validUntil: now });
      }
    }
  }
}
