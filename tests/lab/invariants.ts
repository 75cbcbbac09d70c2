import { isDeepStrictEqual } from 'node:util';
import { encounterTransitions } from '../../src/domain/encounters/states.js';
import { fulfilmentTransitions } from '../../src/domain/orders/fulfilments.js';
import { isRead, success, type Intent, type Json } from './history.js';
import type { Known, Sight } from './sights.js';

// Invariants of the responses and events of one record, for every order of its operations.

const name = ({ operation, client, attempts: [first] }: Intent): string =>
  `${operation} of ${client.name} (${first?.requestId})`;

/** The members that are equal in all responses with one version of a record. An expiry makes no new version. */
const stable = ({ status, reviewerRef, reference, treatmentIds, scheduledDay, cancelReason, gfe_data }: Json): Json => [
  ...[status, reviewerRef, reference, treatmentIds, scheduledDay, cancelReason],
  gfe_data?.map(({ status: ofItem }: Json) => (ofItem === 'expired' ? 'approved' : ofItem)),
];

/**
 * A response never shows an older version than one that had arrived before its request. While servers have different
 * times, also because they learn of a moved sandbox clock one after the other, the times of orders say nothing.
 */
export function staleReads({ sights }: Known, isClockMoving: boolean): string[] {
  return sights.flatMap(({ intent, version, from, body }) => {
    if (isClockMoving && body.lines) return [];
    const newer = sights.findLast((other) => other.version > version && other.to < from);
    return newer ? [`${name(intent)} shows the version ${version}, after ${newer.version} was seen`] : [];
  });
}

/** One version has one state, and one change made it. */
export function lostUpdates({ sights: all }: Known): string[] {
  // Orders and documents have no version.
  const sights = all.filter(({ version, body }) => version > 0 && !body.lines);
  const changes = sights.filter(({ intent }) => !isRead(intent) && intent.operation !== 'createEncounter');
  return sights.flatMap((sight, index) => {
    const { intent, version, body } = sight;
    const before = sights[index - 1];
    const isSplit = before?.version === version && body.gfe_no && !isDeepStrictEqual(stable(before.body), stable(body));
    const rival = changes.includes(sight) && changes.find((other) => other !== sight && other.version === version);
    const expected = Number(intent.ifMatch?.slice(1, -1));
    const between = changes.find((other) => other.version > expected && other.version < version);
    return [
      ...(isSplit ? [`${name(intent)} shows another state of the version ${version}`] : []),
      ...(rival ? [`${name(intent)} and ${name(rival.intent)} made one version ${version}`] : []),
      ...(between ? [`${name(intent)} did not see ${name(between.intent)}`] : []),
    ];
  });
}

/** A refusal agrees with the state before and after it, if they are the same version. */
export function wrongRefusals({ sights, refused }: Known, isClockMoving: boolean): string[] {
  return refused.flatMap((intent) =>
    intent.attempts.flatMap(({ sent, got, body }) => {
      const before = sights.findLast(({ to }) => to < sent);
      const after = sights.find(({ from }) => from > got);
      if (!before || before.version !== after?.version) return [];
      const { version, body: shown } = before;
      // Until a sweep runs, the stored status of a lapsed claim or of an encounter past its deadline is the earlier one.
      const isDue = shown.status === 'in_review' || (isClockMoving && body.current_status === 'expired');
      const isOther = body.current_status !== shown.status && !isDue;
      const isWrong =
        (body.code === 'version_conflict' && intent.ifMatch === `"${version}"`) ||
        (body.code === 'invalid_state' && shown.gfe_no && intent.operation !== 'revokeApprovals' && isOther);
      return isWrong ? [`${name(intent)} was refused in the version ${version} with ${body.code}`] : [];
    }),
  );
}

/** The states of an encounter follow each other as the table of transitions says. */
export function impossibleSteps({ sights }: Known): string[] {
  const transitions: Json = encounterTransitions;
  return sights.slice(1).flatMap(({ intent, version, body }, index) => {
    const before = sights[index];
    if (!before || before.body.status === body.status) return [];
    const next = Object.values<Json>(transitions[before.body.status] ?? {}).map(({ to }) => to);
    const isOpen = next.some((status) => status !== before.body.status);
    const isPossible = version === before.version + 1 ? next.includes(body.status) : isOpen;
    return isPossible ? [] : [`${name(intent)} shows ${body.status} after ${before.body.status}`];
  });
}

/** Only the client and reviewer of the latest claim act for it. */
export function claimsOfOthers({ sights, unknown }: Known): string[] {
  const holderOf = ({ client, input, note, operation }: Intent): string =>
    `${client.name} ${operation === 'getChart' ? note : input.reviewerRef}`;
  const claims = sights.filter(({ intent }) => intent.operation === 'claimEncounter');
  const isUnsure = unknown.some(({ operation }) => operation === 'claimEncounter');
  return sights.flatMap(({ intent, version }) => {
    const isClaim = intent.operation === 'claimEncounter';
    if (isUnsure || !(isClaim || /^(release|requestInf|submitReview|getChart)/.test(intent.operation))) return [];
    const latest = claims.findLast((claim) => claim.version < version + (intent.operation === 'getChart' ? 1 : 0));
    const isSame = latest ? holderOf(latest.intent) === holderOf(intent) : isClaim;
    // Between two claims of different holders, the first one ends.
    const isFree = isClaim && latest !== undefined && version > latest.version + 1;
    return isSame || isFree ? [] : [`${name(intent)} acted for the claim of another`];
  });
}

const item = ({ categoryId, subcategoryId }: Json): string => `${categoryId} ${subcategoryId}`;
const has = (body: Json, input: Json): boolean =>
  Object.entries(input).every(([field, value]) => isDeepStrictEqual(body[field], value));
/** By operation: whether a successful response shows what the request asked for. */
const effects: Readonly<Record<string, (body: Json, input: Json, note: string | undefined) => boolean>> = {
  updateEncounter: has,
  // Not every client sees every field.
  updatePatient: (body, input) => Object.keys(input).every((field) => !(field in body) || body[field] === input[field]),
  cancelEncounter: (body, { reason }) => has(body, { status: 'cancelled', cancelReason: reason }),
  claimEncounter: (body, { reviewerRef }) => has(body, { status: 'in_review', reviewerRef }),
  releaseEncounter: (body) => has(body, { status: 'pending_review', reviewerRef: null }),
  requestInformation: (body) => has(body, { status: 'awaiting_information', reviewerRef: null }),
  provideInformation: ({ status }) => status === 'pending_review' || status === 'in_review',
  rescheduleEncounter: (body, { scheduledDay }) => has(body, { status: 'pending_review', scheduledDay }),
  simulateEncounter: (body) => has(body, { status: 'expired' }),
  addAddendum: ({ status }) => status === 'completed' || status === 'denied',
  submitReview: ({ status, gfe_data }, { decisions }) =>
    status === (decisions.some(({ decision }: Json) => decision === 'approved') ? 'completed' : 'denied') &&
    gfe_data.every((one: Json) => decisions.find((each: Json) => item(each) === item(one))?.decision === one.status),
  revokeApprovals: ({ gfe_data }, { items }) =>
    gfe_data.every((one: Json) => one.status === 'revoked' || !items.map(item).includes(item(one))),
  simulateVerification: (body, { status }) => body.isVerified === status,
  withdrawDocument: (body, { reason }) => body.withdrawn?.reason === reason,
  recordPayment: ({ payments }, { reference }) => payments.some((one: Json) => one.reference === reference),
  refundPayment: ({ refunds }, { reason }) => refunds.some((one: Json) => one.reason === reason),
  cancelOrder: (body, { reason }) => has(body, { order_status: 'cancelled', cancelReason: reason }),
  setShipTo: (body, { name: to }) => body.name === to,
  recordFulfilment: ({ lines }, { treatmentIds, pharmacyId, status }) =>
    lines.some((line: Json) => line.pharmacyId === pharmacyId && line.fulfilment.status === status) &&
    lines.every((line: Json) => !treatmentIds?.includes(line.treatmentId) || line.fulfilment.status === status),
};

export function missingEffects({ done }: Known): string[] {
  return done.flatMap((intent) => {
    const { operation, input, note } = intent;
    const isShown = effects[operation]?.(success(intent)?.body, input, note) ?? true;
    return isShown ? [] : [`${name(intent)} does not show what it asked for`];
  });
}

/** Payments and refunds, by their unique texts: each that succeeded is there once, and no other. */
export function wrongPayments({ sights, done, unknown }: Known): string[] {
  const last = sights.findLast(({ body }) => body.payments)?.body;
  if (!last) return [];
  return (['recordPayment', 'refundPayment'] as const).flatMap((operation) => {
    const [list, key] = operation === 'recordPayment' ? ['payments', 'reference'] : ['refunds', 'reason'];
    const of = (intents: readonly Intent[]): string[] =>
      intents.filter((one) => one.operation === operation).map(({ input }) => input[key]);
    const shown: string[] = last[list].map((one: Json) => one[key]);
    const missing = of(done).filter((text) => !shown.includes(text));
    const strange = shown.filter(
      (text, index) => shown.indexOf(text) < index || !of([...done, ...unknown]).includes(text),
    );
    return [...missing.map((text) => `no ${key} ${text}`), ...strange.map((text) => `a strange ${key} ${text}`)];
  });
}

/** The address stays while a line is shipped or delivered; a simultaneous `exception` may release it. */
export function lateAddresses({ sights, done }: Known): string[] {
  const orders = sights.filter(({ body }) => body.lines);
  const hasShipped = ({ body }: Sight): boolean =>
    body.lines.some(({ fulfilment }: Json) => /^(shipped|delivered)$/.test(fulfilment.status));
  return done.flatMap((intent) => {
    const sent = intent.attempts[0]?.sent ?? 0;
    const got = intent.attempts.at(-1)?.got ?? Infinity;
    const before = orders.findLast(({ to }) => to < sent);
    const meanwhile = orders.filter(({ from, to }) => to >= sent && from <= got);
    const isLate = intent.operation === 'setShipTo' && before && [before, ...meanwhile].every(hasShipped);
    return isLate ? [`${name(intent)} came while a line was shipped`] : [];
  });
}

/** A verified patient stays verified, because the lab changes neither name nor birth date. */
export function lostVerifications({ sights }: Known): string[] {
  return sights.slice(1).flatMap(({ intent, body }, index) => {
    const isLost = sights[index]?.body.isVerified === 'VERIFIED' && body.isVerified !== 'VERIFIED';
    return isLost ? [`${name(intent)} shows ${body.isVerified} after VERIFIED`] : [];
  });
}

/** The steps of an order's lines in its events follow the table; a held line can only be cancelled. */
export function impossibleDeliveries(events: readonly Json[]): string[] {
  const statuses = new Map<string, string>();
  return events.flatMap(({ type, data }) => {
    if (type === 'order.held') for (const id of data.treatmentIds) statuses.set(id, 'held');
    if (type !== 'order.fulfilment_updated') return [];
    return data.treatmentIds.flatMap((id: string) => {
      const [before, status] = [statuses.get(id) ?? 'pending', data.fulfilment_status];
      statuses.set(id, status);
      const next: readonly string[] =
        before === 'held' ? ['cancelled'] : ((fulfilmentTransitions as Json)[before] ?? []);
      return next.includes(status) ? [] : [`a line of ${id} went from ${before} to ${status}`];
    });
  });
}
