// A model of which approvals clear a new request, written from the rules and not from the service's
// code: it counts the facts about a patient, and reuses an approval only if there was none since.

export type Status = 'pending_review' | 'approved' | 'denied' | 'cancelled' | 'expired' | 'superseded' | 'revoked';

/** Items: reviewed every year, reviewed once, and a prescription that is reviewed every year. */
export type Group = 'yearly' | 'once' | 'prescription';

/** Each item has one treatment, and the yearly one an extra one, which an approval can except. */
export type Treatment = Group | 'extra';

export const groupOf = (treatment: Treatment): Group => (treatment === 'extra' ? 'yearly' : treatment);

/** The verdict on an item; of one treatment none can be excepted. */
export type Verdict = 'approve' | 'deny' | 'except';

export interface Request {
  readonly clinic: number;
  readonly wanted: readonly Treatment[];
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
  /** When it was superseded or revoked. */
  endedAt: number | null;
  /** The end of an approval by the rule of its item. */
  ruleEnd: number | null;
  readonly treatments: readonly Treatment[];
  excepted: readonly Treatment[];
  /** Index of the encounter whose approval it reuses. */
  readonly reuses: number | null;
  /** The number of facts when a provider approved it. */
  facts: number | null;
}

/** A line of an order. */
export interface Line {
  readonly treatment: Treatment;
  readonly item: Item;
  isAccepted: boolean;
  hold: Hold | null;
}

type Hold = Readonly<{ reason: 'revoked' | 'superseded' | 'expired'; at: number }>;

export interface Encounter {
  readonly request: Request;
  /** Indexes of the patient's documents. */
  readonly documents: readonly number[];
  readonly items: readonly Item[];
  state: 'open' | 'completed' | 'denied' | 'cancelled' | 'expired';
  readonly createdAt: number;
  /** When it was cancelled or expired. */
  closedAt: number | null;
  /** Of its order. */
  lines: readonly Line[];
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
  const items = [...new Set(request.wanted.map(groupOf))].map((group): Item => {
    const approval = reusable(life, request, group, documents.length > 0, now);
    const treatments = request.wanted.filter((treatment) => groupOf(treatment) === group);
    const open = { group, treatments, excepted: [], endedAt: null, facts: null };
    if (approval === null) {
      return { ...open, status: 'pending_review', decidedAt: null, validUntil: null, ruleEnd: null, reuses: null };
    }
    const { validUntil } = approval.item;
    return { ...open, status: 'approved', decidedAt: now, validUntil, ruleEnd: validUntil, reuses: approval.index };
  });
  const state = items.every(({ status }) => status === 'approved') ? 'completed' : 'open';
  if (request.hasNotes || documents.length > 0) life.facts += 1;
  const encounter: Encounter = { request, documents, items, state, createdAt: now, closedAt: null, lines: [] };
  life.encounters.push(encounter);
  order(encounter, now);
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
    if (item.excepted.some((treatment) => request.wanted.includes(treatment))) return [];
    return item.facts === life.facts ? [{ item, index }] : [];
  });
  const end = ({ item }: Reusable): number => item.validUntil ?? Infinity;
  const isAfter = (first: Reusable, second: Reusable): boolean =>
    end(first) === end(second) ? (first.item.decidedAt ?? 0) > (second.item.decidedAt ?? 0) : end(first) > end(second);
  return candidates.reduce<Reusable | null>((last, each) => (last && isAfter(last, each) ? last : each), null);
}

/** Decides the pending items; `verdicts` has one entry for each. */
export function review(life: Life, encounter: Encounter, verdicts: readonly Verdict[], now: number): void {
  const waiting = encounter.items.filter(({ status }) => status === 'pending_review');
  const denied = new Set(waiting.filter((_, index) => verdicts[index] === 'deny').map(({ group }) => group));
  const excepting = waiting.filter((item, index) => verdicts[index] === 'except' && item.treatments.length > 1);
  const facts = (life.facts += denied.size + excepting.length);
  for (const item of waiting) {
    const isApproved = !denied.has(item.group);
    Object.assign(item, { status: isApproved ? 'approved' : 'denied', decidedAt: now });
    const validUntil = item.group === 'once' ? null : yearAfter(now);
    const excepted = excepting.includes(item) ? ['extra'] : [];
    if (isApproved) Object.assign(item, { validUntil, ruleEnd: validUntil, facts, excepted });
  }
  encounter.state = encounter.items.some((item) => isInForce(item, now)) ? 'completed' : 'denied';
  const isDenied = (item: Item): boolean => denied.has(item.group);
  endApprovals(life, isDenied, 'superseded', now);
  order(encounter, now);
}

/** Ends approvals in force, and holds the lines of these items, also of those that time has ended before. */
function endApprovals(
  { encounters }: Life,
  isEnding: (item: Item, index: number) => boolean,
  status: 'superseded' | 'revoked',
  now: number,
): void {
  for (const [index, { items, lines }] of encounters.entries()) {
    for (const line of lines) {
      line.hold = shownHold(line, now);
      if (isEnding(line.item, index)) line.hold ??= { reason: status, at: now };
    }
    for (const item of items) {
      if (isEnding(item, index) && isInForce(item, now)) Object.assign(item, { status, validUntil: now, endedAt: now });
    }
  }
}

/** The order of a completed encounter has a line for each treatment that is approved at that moment. */
function order(encounter: Encounter, now: number): void {
  if (encounter.state !== 'completed') return;
  encounter.lines = encounter.items
    .filter((item) => isInForce(item, now))
    .flatMap((item) => {
      const approved = item.treatments.filter((treatment) => !item.excepted.includes(treatment));
      return approved.map((treatment) => ({ treatment, item, isAccepted: false, hold: null }));
    });
}

/** The hold in a response: time holds a prescription that its pharmacy has not accepted, from the end of the approval. */
export function shownHold({ hold, item: { group, ruleEnd }, isAccepted }: Line, now: number): Hold | null {
  const isOver = group === 'prescription' && !isAccepted && ruleEnd !== null && ruleEnd <= now;
  return hold ?? (isOver ? { reason: 'expired', at: ruleEnd } : null);
}

export function end(encounter: Encounter, state: 'cancelled' | 'expired', now: number): void {
  Object.assign(encounter, { state, closedAt: now });
  for (const item of encounter.items) if (item.status === 'pending_review') item.status = state;
}

/** Revokes the approvals of an encounter that are in force, with all items that reuse them. */
export function revoke(life: Life, encounter: Encounter, now: number): void {
  life.facts += 1;
  const own = life.encounters.indexOf(encounter);
  for (const revoked of encounter.items.filter((item) => isInForce(item, now))) {
    const given = revoked.reuses ?? own;
    const isSame = (item: Item, index: number): boolean =>
      item.group === revoked.group && (item.reuses ?? index) === given;
    endApprovals(life, isSame, 'revoked', now);
  }
}
