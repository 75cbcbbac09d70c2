import type { Json } from './history.js';
import type { Effect, Model, Op } from './linearize.js';

/** An encounter, as far as the rules of openapi/rules.md determine it. */
interface EncounterState {
  readonly status: string;
  readonly version: number;
  /** Client and reviewer that hold the claim. */
  readonly holder: string;
  readonly reviewerRef: string | null;
  readonly reference: string | null;
  readonly scheduledDay: string | null;
  readonly cancelReason: string | null;
  readonly treatmentIds: readonly string[];
  /** The status of each item, in the order of the treatments. */
  readonly items: Readonly<Record<string, string>>;
  /** The treatments with an approval that has not ended. */
  readonly approved: readonly string[];
  readonly informed: number;
  readonly hasQuestion: boolean;
  readonly addenda: number;
  /** The lease may end during the run. */
  readonly isShort: boolean;
  /** The lease has ended, but neither a sweep nor a change has stored that: reads show the claim. */
  readonly isLapsed: boolean;
}

export const itemOf = ({ categoryId, subcategoryId }: Json): string => `${categoryId} ${subcategoryId}`;

interface Facts {
  readonly reviewType: string;
  /** The item of each treatment. */
  readonly itemOfTreatment: ReadonlyMap<string, string>;
  /** The tenant's clock moves, so any lease may end. */
  readonly isClockMoving: boolean;
}

const refused = (...codes: string[]): { refused: string[] } => ({ refused: codes });
const OPEN = ['pending_review', 'in_review', 'awaiting_information'];

/** The state of a new encounter, by the body of its request. */
export function createdEncounter({ reference, treatmentIds }: Json, facts: Facts): EncounterState {
  return {
    ...{ status: 'pending_review', version: 1, holder: '', reviewerRef: null, reference, scheduledDay: null },
    ...{ cancelReason: null, informed: 0, hasQuestion: false, addenda: 0, isShort: false, isLapsed: false },
    ...treated(treatmentIds, facts),
  };
}

function treated(treatmentIds: readonly string[], { itemOfTreatment }: Facts) {
  const items = treatmentIds.map((id) => [itemOfTreatment.get(id) ?? id, 'pending_review']);
  return { treatmentIds, items: Object.fromEntries(items) as EncounterState['items'], approved: [] };
}

/** */
export function encounterModel(facts: Facts): Model<EncounterState> {
  const changed = (
    state: EncounterState,
    change: Partial<EncounterState>,
    ...events: string[]
  ): Effect<EncounterState> => ({
    state: { ...state, ...change, version: state.version + 1 },
    events,
  });
  const closed = ({ items }: EncounterState, status: string) =>
    Object.fromEntries(
      Object.entries(items).map(([item, before]) => [item, before === 'pending_review' ? status : before]),
    );
  const isSame = (state: EncounterState, { treatmentIds }: Json): boolean =>
    !treatmentIds || treatmentIds.join() === state.treatmentIds.join();
  const unclaimed = { holder: '', reviewerRef: null, isShort: false, isLapsed: false };
  const lapse = (state: EncounterState) => ({
    state: { ...state, ...unclaimed, status: 'pending_review', version: state.version + 1 },
    events: ['encounter.released'],
  });

  const itemOfId = (id: string): string => facts.itemOfTreatment.get(id) ?? id;
  const end = (state: EncounterState, isMeant: (id: string) => boolean, reason: string): Effect<EncounterState> => {
    const ended = state.approved.filter(isMeant);
    if (ended.length === 0) return { state, events: [] };
    const approved = state.approved.filter((id) => !ended.includes(id));
    const affected = Object.keys(state.items).filter((item) => ended.some((id) => itemOfId(id) === item));
    const over = affected.filter((item) => !approved.some((id) => itemOfId(id) === item));
    const items = { ...state.items, ...Object.fromEntries(over.map((item) => [item, reason])) };
    const eventOf = (item: string): string =>
      `gfe.${reason} ${item} ${ended.filter((id) => itemOfId(id) === item).join()}`;
    return changed(state, { items, approved }, ...affected.map(eventOf));
  };

  const byHolder = (state: EncounterState, op: Op, act: () => Effect<EncounterState>): Effect<EncounterState> => {
    if (state.status !== 'in_review') return refused('invalid_state');
    return state.holder === `${op.intent.client.name} ${op.intent.input.reviewerRef}`
      ? act()
      : refused('claimed_by_other');
  };
  const steps: Record<string, (state: EncounterState, op: Op, input: Json) => Effect<EncounterState>> = {
    claimEncounter(state, { intent }, { reviewerRef, leaseSeconds = 3_600 }) {
      const holder = `${intent.client.name} ${reviewerRef}`;
      const isShort = leaseSeconds < 10;
      if (state.status === 'in_review')
        return state.holder === holder ? changed(state, { isShort }) : refused('claimed_by_other');
      if (state.status !== 'pending_review') return refused('invalid_state');
      if (facts.reviewType === 'synchronous' && (state.scheduledDay ?? '') > '2027') return refused('not_due');
      return changed(state, { status: 'in_review', holder, reviewerRef, isShort }, 'encounter.review_started');
    },
    releaseEncounter: (state, op) =>
      byHolder(state, op, () => changed(state, { ...unclaimed, status: 'pending_review' }, 'encounter.released')),
    requestInformation: (state, op) =>
      byHolder(state, op, () => {
        const change = {
          ...unclaimed,
          status: 'awaiting_information',
          informed: state.informed + 1,
          hasQuestion: true,
        };
        return state.informed >= 20
          ? refused('too_many_records')
          : changed(state, change, 'encounter.information_requested');
      }),
    submitReview: (state, op, { decisions }) =>
      byHolder(state, op, () => {
        // The chart, the claim and the treatments may have changed since the provider read them.
        const orRefused = ['chart_changed', 'decisions_incomplete', 'validation_failed', 'visit_required'];
        const given: Record<string, string> = Object.fromEntries(
          decisions.map((each: Json) => [itemOf(each), each.decision]),
        );
        if (Object.keys(given).sort().join() !== Object.keys(state.items).sort().join()) return refused(...orRefused);
        const denied = decisions.filter(({ decision }: Json) => decision === 'denied').length;
        const approved = decisions.length - denied;
        const items = Object.fromEntries(Object.keys(state.items).map((item) => [item, given[item] ?? '']));
        const [status, event] = approved > 0 ? ['completed', ` ${approved}`] : ['denied', ''];
        const covered = state.treatmentIds.filter((id) => given[itemOfId(id)] === 'approved');
        const change = { status, items, approved: covered, holder: '', isShort: false };
        return { ...changed(state, change, `encounter.${status}${event} ${denied}`), orRefused };
      }),
    cancelEncounter(state, _op, { reason }) {
      if (!OPEN.includes(state.status)) return refused('invalid_state');
      const change = {
        status: 'cancelled',
        cancelReason: reason,
        items: closed(state, 'cancelled'),
        holder: '',
        isShort: false,
      };
      return changed(state, change, `encounter.cancelled ${reason}`);
    },
    simulateEncounter(state) {
      if (!OPEN.includes(state.status) || state.status === 'in_review') return refused('invalid_state');
      return changed(state, { status: 'expired', items: closed(state, 'expired') }, 'encounter.expired');
    },
    rescheduleEncounter(state, _op, { scheduledDay }) {
      if (state.status !== 'pending_review') return refused('invalid_state');
      return changed(state, { scheduledDay }, 'encounter.rescheduled');
    },
    provideInformation(state) {
      if (!OPEN.includes(state.status)) return refused('invalid_state');
      if (!state.hasQuestion && state.informed >= 20) return refused('too_many_records');
      const status = state.status === 'awaiting_information' ? 'pending_review' : state.status;
      const informed = state.informed + (state.hasQuestion ? 0 : 1);
      return changed(state, { status, informed, hasQuestion: false }, 'encounter.information_provided');
    },
    updateEncounter(state, _op, { reference, treatmentIds }) {
      if (treatmentIds && state.status !== 'pending_review' && !state.isLapsed) return refused('invalid_state');
      if (isSame(state, { treatmentIds })) return changed(state, { reference }, 'encounter.updated reference');
      return changed(state, { reference, ...treated(treatmentIds, facts) }, 'encounter.updated reference,treatmentIds');
    },
    addAddendum(state) {
      if (!['completed', 'denied'].includes(state.status)) return refused('invalid_state');
      return state.addenda >= 100 ? refused('too_many_records') : changed(state, { addenda: state.addenda + 1 });
    },
    revokeApprovals(state, _op, { items: [item] }) {
      if (state.status !== 'completed') return refused('invalid_state');
      const before = state.items[itemOf(item)];
      if (before === undefined) return refused('validation_failed');
      if (before !== 'approved') return refused('invalid_state');
      return end(state, (id) => itemOfId(id) === itemOf(item), 'revoked');
    },
    /** A decision about the same treatments in another encounter of the patient at the clinic. */
    decidedElsewhere: (state, { intent: { note = '' } }) => end(state, (id) => note.includes(id), 'superseded'),
    /** Only the provider that holds the claim reads the chart; a success is a read of the encounter. */
    getChart(state, { intent }) {
      const isHolder = state.status === 'in_review' && state.holder === `${intent.client.name} ${intent.note}`;
      return isHolder
        ? { state, events: [] }
        : refused(state.status === 'in_review' ? 'claimed_by_other' : 'invalid_state');
    },
  };
  return {
    step(state, op) {
      const step = steps[op.kind];
      if (!step) return { state, events: [] };
      const { ifMatch } = op.intent;
      if (ifMatch !== undefined && ifMatch !== `"${state.version}"`) return refused('version_conflict');
      // Reference and metadata may change in every status, and a decision elsewhere ends approvals: both leave a lapsed claim alone.
      const isElsewhere =
        op.kind === 'decidedElsewhere' || (op.kind === 'updateEncounter' && isSame(state, op.intent.input));
      if (!state.isLapsed || isElsewhere) return step(state, op, op.intent.input);
      const lapsed = lapse(state);
      const effect = step(lapsed.state, op, op.intent.input);
      return 'refused' in effect ? effect : { ...effect, events: [...lapsed.events, ...effect.events] };
    },
    shows(state, { kind, body, etag, intent }) {
      if (kind === 'decidedElsewhere') return true;
      if (kind === 'getEncounterStatus') {
        const shown = body.gfe_data.map(({ status }: Json) => status);
        const hasOrder = body.order_details !== undefined;
        return (
          shown.sort().join() === Object.values(state.items).sort().join() &&
          hasOrder === (state.status === 'completed')
        );
      }
      if (kind === 'getChart' && (state.isLapsed || state.holder !== `${intent.client.name} ${intent.note}`))
        return false;
      const items = Object.fromEntries(body.gfe_data.map((item: Json) => [itemOf(item), item.status]));
      const { status, version, reviewerRef, reference, scheduledDay, cancelReason, treatmentIds } = body;
      const shown = [status, version, reviewerRef, reference, scheduledDay, cancelReason, treatmentIds.join()];
      const expected = [state.status, state.version, state.reviewerRef, state.reference, state.scheduledDay];
      return (
        String(shown) === String([...expected, state.cancelReason, state.treatmentIds.join()]) &&
        Object.keys(items).length === Object.keys(state.items).length &&
        Object.entries(state.items).every(([item, each]) => items[item] === each) &&
        (body.information === undefined || body.information.length === state.informed) &&
        (body.addenda === undefined || body.addenda.length === state.addenda) &&
        (!etag || etag === `"${version}"`)
      );
    },
    /** The end of a lease, and the sweep that stores it. */
    spontaneous(state) {
      if (state.isLapsed) return [lapse(state)];
      const mayLapse = state.status === 'in_review' && (state.isShort || facts.isClockMoving);
      return mayLapse ? [{ state: { ...state, isLapsed: true }, events: [] }] : [];
    },
  };
}
