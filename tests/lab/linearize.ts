import type { Intent, Json } from './history.js';

/** One experience of a record: an intent, or the effect of an intent on another record. */
export interface Op {
  readonly kind: string;
  readonly intent: Intent;
  /** `seen` is a read; the outcome of `unknown` may be either. */
  readonly outcome: 'done' | 'refused' | 'seen' | 'unknown';
  /** It took effect after the first tick and before the second. */
  readonly from: number;
  readonly to: number;
  /** The response, if it shows the record. */
  readonly body?: Json;
  readonly etag?: string | null;
  readonly code?: string;
}

/** The effect of an operation on a state: the next state with its events, or the codes that may refuse it. */
export type Effect<S> =
  | { readonly state: S; readonly events: readonly string[]; readonly orRefused?: readonly string[] }
  | { readonly refused: readonly string[] };

/** The public rules of one kind of record. */
export interface Model<S> {
  step(state: S, op: Op): Effect<S>;
  /** Whether a response shows this state. */
  shows(state: S, op: Op): boolean;
  /** Changes that time makes. */
  spontaneous?(state: S): Effect<S>[];
}

/** The result of a search: null if an order was found. */
type Verdict = null | 'undecided' | { readonly explained: number; readonly stuck: string };

const MAX_NODES = 100_000;

/**
 * Searches for an order of the operations, each between its request and its response, that explains every response and emits
 * exactly the record's events in the feed (Wing and Gong's algorithm, with Lowe's memory of visited states).
 * @param feed undefined = any events
 */
export function linearize<S>(
  model: Model<S>,
  initial: S,
  ops: readonly Op[],
  feed: readonly string[] | undefined,
): Verdict {
  const done: boolean[] = ops.map(() => false);
  const visited = new Set<string>();
  let nodes = 0;
  let best = { explained: -1, stuck: '' };
  const isEmitted = (events: readonly string[], at: number): boolean =>
    feed === undefined || events.every((event, index) => feed[at + index] === event);

  /** Whether the operation leaves the state alone and its response fits. */
  const isObservation = ({ outcome }: Op): boolean => outcome === 'seen' || outcome === 'refused';
  const fits = (state: S, op: Op): boolean => {
    if (op.outcome === 'seen') return model.shows(state, op);
    const effect = model.step(state, op);
    const codes = 'refused' in effect ? effect.refused : (effect.orRefused ?? []);
    return codes.includes(op.code ?? '');
  };
  const firstEnd = (): number =>
    ops.reduce(
      (least, { to, outcome }, index) => (done[index] || outcome === 'unknown' ? least : Math.min(least, to)),
      Infinity,
    );

  const explore = (state: S, at: number): boolean => {
    if ((nodes += 1) > MAX_NODES) return false;
    const taken: number[] = [];
    // Nothing is lost by placing an observation as early as it fits.
    for (let end = firstEnd(), isNew = true; isNew; end = firstEnd()) {
      const next = ops.findIndex((op, index) => !done[index] && op.from < end && isObservation(op) && fits(state, op));
      isNew = next >= 0;
      if (isNew) {
        done[next] = true;
        taken.push(next);
      }
    }
    const end = firstEnd();
    if (
      end === Infinity &&
      (feed === undefined || at === feed.length) &&
      ops.every(({ outcome }, index) => done[index] || outcome === 'unknown')
    ) {
      return true;
    }
    const explained = done.filter(Boolean).length;
    if (explained > best.explained)
      best = {
        explained,
        stuck: describe(
          state,
          ops.filter((op, index) => !done[index] && op.from < end),
          feed?.slice(at),
        ),
      };
    const key = `${done.map(Number).join('')} ${at} ${JSON.stringify(state)}`;
    if (!visited.has(key)) {
      visited.add(key);
      for (const [index, op] of ops.entries()) {
        if (done[index] || op.from > end || isObservation(op)) continue;
        const effect = model.step(state, op);
        if ('refused' in effect || !isEmitted(effect.events, at)) continue;
        if (op.outcome === 'done' && op.body !== undefined && !model.shows(effect.state, op)) continue;
        done[index] = true;
        if (explore(effect.state, at + effect.events.length)) return true;
        done[index] = false;
      }
      for (const effect of model.spontaneous?.(state) ?? []) {
        if ('refused' in effect || !isEmitted(effect.events, at)) continue;
        if (explore(effect.state, at + effect.events.length)) return true;
      }
    }
    for (const index of taken) done[index] = false;
    return false;
  };
  if (explore(initial, 0)) return null;
  return nodes > MAX_NODES ? 'undecided' : best;
}

function describe(state: unknown, candidates: readonly Op[], feed: readonly string[] | undefined): string {
  const shown = candidates.slice(0, 6).map(({ kind, outcome, code, intent, from, to }) => {
    const { requestId } = intent.attempts[0] ?? {};
    return `${kind} ${outcome}${code ? ` ${code}` : ''} by ${intent.client.name} [${from}, ${to}] ${requestId}`;
  });
  const next = feed === undefined ? '' : ` before the events [${feed.slice(0, 3).join('; ')}]`;
  return `in the state ${JSON.stringify(state)}${next} no rule explains: ${shown.join(' | ')}`;
}
