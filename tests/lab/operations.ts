import type { Client, Json } from './history.js';
import { billing, getOrder, pharmacy, setShipTo, shipTo } from './orderOperations.js';
import { recent } from './scene.js';
import { change, onEncounter, read, type Action, type Plan, type Turn } from './turn.js';

/** Providers share references now and then, which must not let one act for the other. */
const reviewerOf = ({ random, client }: Turn): string => (random.chance(0.9) ? client.name : 'Dr. Shared');
const holderOf = (turn: Turn, known: Json): string =>
  turn.random.chance(0.9) ? (known?.reviewerRef ?? reviewerOf(turn)) : reviewerOf(turn);
const days = ['2026-01-05', '2026-03-09', '2027-06-01', null];

const createPatient: Action = (turn) => {
  const number = turn.random.int(1_000_000_000);
  // A few e-mails are sent by several clients at once.
  const email = turn.random.chance(0.1) ? `shared.${turn.random.int(20)}@example.com` : `p${number}@example.com`;
  const names = { firstName: 'Jane', lastName: `Miller ${number}`, email, dateOfBirth: '1990-06-30' };
  return change(turn, 'createPatient', 'POST', '/clients', {
    ...names,
    countryCode: '+1',
    phone: `5${String(number).padStart(9, '0')}`,
  });
};
const updatePatient: Action = (turn) => {
  const [patient, known] = recent(turn.random, visiblePatients(turn)) ?? [];
  if (!patient) return undefined;
  const field = turn.random.pick(['employer', 'notes', 'emergencyContactName']);
  const plan = change(
    turn,
    'updatePatient',
    'PATCH',
    `/clients/${patient}`,
    { [field]: turn.random.uuid() },
    { patient },
  );
  return known?.etag && turn.random.chance(0.6) ? { ...plan, ifMatch: known.etag } : plan;
};
/** The patients that a client surely sees: if it is limited to clinics, those that it created. */
const visiblePatients = ({ scene, client }: Turn) =>
  [...scene.patients].filter(([, { isLimited }]) => client.role !== 'limited' || isLimited);

/** The body of a new encounter. */
const requested = (turn: Turn): Json => {
  const { random, scene, client } = turn;
  const [patientId] = recent(random, visiblePatients(turn), 4) ?? [];
  if (!patientId) return undefined;
  const { treatments, clinics } = scene.tenant;
  const treatmentIds = treatments.filter(() => random.chance(0.4)).map(({ id }) => id);
  return {
    clinicId: client.role === 'limited' ? clinics[0] : random.pick(clinics),
    ...{ patientId, treatmentIds: treatmentIds.length > 0 ? treatmentIds : [random.pick(treatments).id] },
    ...{ reviewType: random.chance(0.7) ? 'asynchronous' : 'synchronous', serviceQueue: 'provider_network' },
    ...{ reference: random.uuid(), ...(random.chance(0.7) ? { shipTo: shipTo('At first') } : {}) },
  };
};
const createEncounter: Action = (turn) => {
  const input = requested(turn);
  return input && change(turn, 'createEncounter', 'POST', '/encounters', input);
};
const previewEncounter: Action = (turn) => {
  const input = requested(turn);
  return input && { operation: 'previewEncounter', method: 'POST', path: '/encounters/preview', input };
};
const updateEncounter: Action = (turn) => {
  const { random, scene } = turn;
  const known = recent(random, scene.encounters.values());
  if (!known) return undefined;
  const more = random.chance(0.2) ? { treatmentIds: [random.pick(scene.tenant.treatments).id] } : {};
  const input = { reference: random.uuid(), ...more };
  const about = { encounter: known.encounter_id };
  const plan = change(turn, 'updateEncounter', 'PATCH', `/encounters/${known.encounter_id}`, input, about);
  return random.chance(0.6) ? { ...plan, ifMatch: `"${known.version}"` } : plan;
};

/** Reads the chart and decides as a provider does. */
const review: Action = async (turn) => {
  const { random, scene, client, send } = turn;
  const claimed = [...scene.encounters.values()].filter(({ status }) => status === 'in_review');
  const own = claimed.filter(({ reviewerRef }) => reviewerRef === client.name);
  const known = recent(random, own.length > 0 && random.chance(0.8) ? own : claimed);
  if (!known) return undefined;
  const { encounter_id: encounter, reviewerRef } = known;
  const path = `/encounters/${encounter}`;
  const chart = await send(
    read('getChart', `${path}/chart?reviewerRef=${encodeURIComponent(reviewerRef)}`, { encounter, note: reviewerRef }),
  );
  if (!chart) return undefined;
  const { reviewType, claimedAt, gfe_data } = chart.encounter;
  const decisions = gfe_data.map(({ categoryId, subcategoryId }: Json) => {
    const decision = random.chance(0.75)
      ? { decision: 'approved' }
      : { decision: 'denied', reason: 'Contraindicated.' };
    return { categoryId, subcategoryId, ...decision };
  });
  const visit = reviewType === 'synchronous' ? { visit: { startedAt: claimedAt, endedAt: claimedAt } } : {};
  const input = { reviewerRef, chartVersion: chart.chartVersion, decisions, ...visit };
  const note = chart.encounter.treatmentIds.join();
  return change(turn, 'submitReview', 'POST', `${path}/review`, input, { encounter, note });
};

const getEncounter: Action = ({ random, scene }) => {
  const encounter = recent(random, scene.encounters.keys());
  return encounter === undefined ? undefined : read('getEncounter', `/encounters/${encounter}`, { encounter });
};

const getStatus: Action = ({ random, scene }) => {
  const encounter = recent(random, scene.encounters.keys());
  const plan = { operation: 'getEncounterStatus', method: 'POST', path: '/encounters/status' };
  return encounter === undefined ? undefined : { ...plan, input: { encounter_id: encounter }, encounter };
};

const revoke: Action = (turn) => {
  const completed = [...turn.scene.encounters.values()].filter(({ status }) => status === 'completed');
  const known = recent(turn.random, completed);
  const item = known && turn.random.pick<Json>(known.gfe_data);
  if (!item) return undefined;
  const { categoryId, subcategoryId } = item;
  const input = { reviewerRef: reviewerOf(turn), reason: 'Recalled.', items: [{ categoryId, subcategoryId }] };
  const { encounter_id: encounter } = known;
  return change(turn, 'revokeApprovals', 'POST', `/encounters/${encounter}/revoke`, input, { encounter });
};

const upload: Action = (turn) => {
  const [patient] = recent(turn.random, visiblePatients(turn)) ?? [];
  const path = `/clients-documents/${patient}/upload-url/lab-results`;
  return patient ? change(turn, 'uploadPatientDocument', 'POST', path, { url: turn.fileUrl }, { patient }) : undefined;
};
const withdraw: Action = (turn) => {
  const [document, patient] = recent(turn.random, turn.scene.documents, 2) ?? [];
  if (!document || (turn.client.role === 'limited' && !turn.scene.patients.get(patient ?? '')?.isLimited))
    return undefined;
  const input = { reason: turn.random.pick(['wrong_patient', 'illegible']) };
  return change(turn, 'withdrawDocument', 'POST', `/documents/${document}/withdraw`, input, { document });
};
const endpoint: Action = (turn) => {
  const [id] = turn.scene.endpoints;
  if (turn.client.role === 'limited') return undefined;
  if (id !== undefined) {
    const path = `/webhook-endpoints/${id}`;
    return turn.random.pick<Plan>([
      { operation: 'deleteWebhookEndpoint', method: 'DELETE', path },
      change(turn, 'rotateWebhookSecret', 'POST', `${path}/rotate-secret`, undefined),
      change(turn, 'updateWebhookEndpoint', 'PATCH', path, { description: turn.random.uuid() }),
      change(turn, 'pingWebhookEndpoint', 'POST', `${path}/ping`, undefined),
      change(turn, 'replayWebhookEvents', 'POST', `${path}/replay`, { after: '2026-01-01T00:00:00Z' }),
    ]);
  }
  return change(turn, 'createWebhookEndpoint', 'POST', '/webhook-endpoints', { url: turn.hookUrl });
};

/** Reads or changes a record of another tenant, which must look like one that does not exist. */
const trespass: Action = (turn) => {
  const { random, client, foreign } = turn;
  const encounter = recent(random, foreign.encounters.keys());
  const order = recent(random, foreign.orders.keys());
  const patient = recent(random, foreign.patients.keys());
  const plans: Record<Client['role'], Plan | undefined | 0 | ''> = {
    partner: random.chance(0.5)
      ? patient && read('getPatient', `/clients/${patient}`)
      : encounter && read('getEncounter', `/encounters/${encounter}`),
    limited:
      encounter && change(turn, 'cancelEncounter', 'POST', `/encounters/${encounter}/cancel`, { reason: 'other' }),
    provider:
      encounter &&
      change(turn, 'claimEncounter', 'POST', `/encounters/${encounter}/claim`, { reviewerRef: 'Dr. Other' }),
    billing: order && change(turn, 'recordPayment', 'POST', `/orders/${order}/payments`, { amount: '1.00' }),
    pharmacy: order && read('getOrder', `/orders/${order}`),
  };
  const plan = plans[client.role];
  return plan ? { ...plan, isForeign: true } : undefined;
};

/** Moves the clock, which only a sandbox has. */
const moveClock: Action = ({ random, scene, client }) => {
  if (scene.tenant.mode !== 'sandbox' || client.role === 'limited') return undefined;
  // A year ends every approval.
  scene.clock.offset += random.chance(0.1) ? 366 * 86_400 : 600;
  return { operation: 'setClock', method: 'PUT', path: '/sandbox/clock', input: { offsetSeconds: scene.clock.offset } };
};
const verify: Action = (turn) => {
  const all = visiblePatients(turn);
  const begun = all.filter(([, { isVerified }]) => isVerified !== 'NOTVERIFIED');
  const [patient] = recent(turn.random, begun.length > 0 && turn.random.chance(0.7) ? begun : all) ?? [];
  if (!patient || turn.scene.tenant.mode !== 'sandbox') return undefined;
  const input = { status: turn.random.pick(['INVITED', 'VERIFIED', 'NOTVERIFIED']) };
  return change(turn, 'simulateVerification', 'POST', `/sandbox/clients/${patient}/verification`, input, { patient });
};
const setInbox: Action = ({ random, scene, client }) => {
  if (scene.tenant.mode !== 'sandbox' || client.role === 'limited') return undefined;
  const plan = { operation: 'setWebhookInboxBehavior', method: 'PUT', path: '/sandbox/webhook-inbox/behavior' };
  return { ...plan, input: { status: random.pick([204, 410, 500]) } };
};
const expire = onEncounter('simulateEncounter', '/simulate', ['pending_review', 'awaiting_information'], () => ({
  outcome: 'expire',
}));
const simulate: Action = async (turn) => {
  const plan = turn.scene.tenant.mode === 'sandbox' ? await expire(turn) : undefined;
  return plan && { ...plan, path: `/sandbox${plan.path}` };
};

const getPatient: Action = (turn) => {
  const [patient] = recent(turn.random, visiblePatients(turn)) ?? [];
  return patient ? read('getPatient', `/clients/${patient}`, { patient }) : undefined;
};
const reschedule = onEncounter('rescheduleEncounter', '/reschedule', ['pending_review'], ({ random }) => ({
  scheduledDay: random.pick(days),
}));
const cancel = (reason: string, ...statuses: readonly string[]): Action =>
  onEncounter('cancelEncounter', '/cancel', statuses, () => ({ reason }));
const inform = onEncounter('provideInformation', '/information', ['awaiting_information'], ({ random }) => ({
  additionalNotes: random.uuid(),
}));
const claim = onEncounter('claimEncounter', '/claim', ['pending_review', 'in_review'], (turn) => ({
  reviewerRef: reviewerOf(turn),
  ...(turn.random.chance(0.1) ? { leaseSeconds: 1 } : {}),
}));
const release = onEncounter('releaseEncounter', '/release', ['in_review'], (turn, known) => ({
  reviewerRef: holderOf(turn, known),
}));
const ask = onEncounter('requestInformation', '/request-information', ['in_review'], (turn, known) => ({
  ...{ reviewerRef: holderOf(turn, known), message: turn.random.uuid() },
}));
const add = onEncounter('addAddendum', '/addenda', ['completed', 'denied'], (turn) => ({
  ...{ reviewerRef: reviewerOf(turn), text: turn.random.uuid() },
}));
const listEvents: Action = ({ cursor }) =>
  read('listEvents', `/events?limit=50${cursor === undefined ? '' : `&cursor=${cursor}`}`);

type Weighted = readonly (readonly [number, Action])[];

const partner: Weighted = [
  [6, createPatient],
  [9, updatePatient],
  [6, getPatient],
  [16, createEncounter],
  [14, updateEncounter],
  [14, getEncounter],
  [4, getStatus],
  [3, previewEncounter],
  [5, reschedule],
  [4, cancel('partner_request', 'pending_review', 'in_review')],
  [9, inform],
  [12, setShipTo],
  [4, getOrder],
  [4, () => read('listEncounters', '/encounters?limit=10')],
  [6, listEvents],
  [3, upload],
  [4, withdraw],
  [2, endpoint],
  [2, trespass],
  [1, moveClock],
  [2, simulate],
  [8, verify],
  [1, setInbox],
];
const provider: Weighted = [
  [24, claim],
  [4, release],
  [5, ask],
  [24, review],
  [5, add],
  [4, revoke],
  [1, cancel('patient_no_show', 'in_review')],
  [8, getEncounter],
  [4, () => read('listReviewQueue', '/review-queue?limit=10')],
  [1, trespass],
];

/** The actions of a role, by weight. */
export const actions: Readonly<Record<Client['role'], Weighted>> = {
  ...{ partner, limited: partner, provider },
  billing: [...billing, [2, trespass]],
  pharmacy: [...pharmacy, [2, trespass]],
};
