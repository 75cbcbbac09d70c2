import type { Context } from '../../../src/context.js';
import { clearances } from '../../../src/domain/approvals/clearance.js';
import { showEncounter } from '../../../src/domain/encounters/lookup.js';
import { getOrder } from '../../../src/domain/orders/orders.js';
import { certify } from '../../../src/domain/reviews/certificate.js';
import { certificateView } from '../../../src/views/certificateView.js';
import { clearanceOf } from './clearanceModel.js';
import { shown, shownHold, type Encounter, type Item, type Life, type Treatment } from './reuseModel.js';

/** A patient of the model and of the service. */
export interface Lived {
  readonly context: Context;
  readonly patientId: string;
  /** The second clinic is 11 hours behind UTC, and the first 14 hours ahead. */
  readonly clinics: readonly string[];
  /** By id. */
  readonly treatments: ReadonlyMap<string, Treatment>;
  readonly life: Life;
  /** Of the encounters. */
  readonly numbers: readonly bigint[];
  readonly now: number;
}

const hour = 3_600_000;
const offsets = [14 * hour, -11 * hour];
const dayMs = 24 * hour;

/**
 * Expects that clearance, certificate and holds say what the model says, today and on days around moments of the life.
 * @returns the reasons of clearances and holds that occurred
 */
export async function expectAgreement(
  lived: Lived,
  days: readonly { readonly moment: number; readonly shift: number }[],
): Promise<string[]> {
  const { life, clinics, now } = lived;
  const occurred: string[] = [];
  for (const [index, encounter] of life.encounters.entries()) {
    await expectCertificate(lived, index, encounter);
    occurred.push(...(await expectHolds(lived, index, encounter)));
  }
  const moments = life.encounters.flatMap(({ createdAt, closedAt, items }) =>
    [createdAt, closedAt, ...items.flatMap(({ decidedAt, endedAt, ruleEnd }) => [decidedAt, endedAt, ruleEnd])].filter(
      (time) => time !== null,
    ),
  );
  for (const clinic of clinics.keys()) {
    occurred.push(...(await expectClearances(lived, clinic, undefined)));
    for (const { moment, shift } of days) {
      const time = (moments[moment % moments.length] ?? now) + shift * dayMs;
      const local = new Date(time + (offsets[clinic] ?? 0));
      occurred.push(...(await expectClearances(lived, clinic, local.toISOString().slice(0, 10))));
    }
  }
  return occurred;
}

async function expectClearances(lived: Lived, clinic: number, at: string | undefined): Promise<string[]> {
  const { context, patientId, clinics, treatments, life, numbers, now } = lived;
  const offset = offsets[clinic] ?? 0;
  const today = new Date(now + offset).toISOString().slice(0, 10);
  const end = at === undefined || at === today ? now : Date.parse(at) + dayMs - offset - 1;
  const moment = { at: end, knownAt: Math.min(end, now) };
  const query = {
    clinicId: clinics[clinic] ?? '',
    treatmentIds: [...treatments.keys()],
    ...(at === undefined ? {} : { at }),
  };
  const answer = await clearances(context, patientId, query);
  const answered = answer.clearances.map(({ treatment, fact, reason, factsChanged }) => ({
    treatment: treatments.get(treatment.id),
    reason,
    encounter: fact && numbers.indexOf(BigInt(fact.encounterNo)),
    validUntil: fact?.validUntil?.getTime() ?? null,
    decidedAt: fact?.decidedAt?.getTime() ?? null,
    factsChanged,
  }));
  const expected = [...treatments.values()].map((treatment) => {
    const { encounter, ...clearance } = clearanceOf(life, clinic, treatment, moment);
    return { treatment, encounter: encounter && life.encounters.indexOf(encounter), ...clearance };
  });
  expect({ at, answered }).toEqual({ at, answered: expected });
  return expected.map(({ reason }) => `${end < now ? 'past' : end > now ? 'future' : 'today'} ${reason}`);
}

const isOver = (item: Item, now: number): boolean => ['expired', 'superseded', 'revoked'].includes(shown(item, now));

/** Only a completed encounter has a certificate, which marks the approvals that are not in force. */
async function expectCertificate(
  { context, numbers, now }: Lived,
  index: number,
  { state, items }: Encounter,
): Promise<void> {
  const certificate = certify(context, await showEncounter(context, numbers[index] ?? 0n));
  if (state !== 'completed') return expect(certificate).rejects.toMatchObject({ code: 'invalid_state' });
  const found = await certificate;
  expect(
    found.items.map(({ validUntil, declinedTreatments }) => [validUntil?.getTime() ?? null, declinedTreatments.length]),
  ).toEqual(items.map(({ validUntil, excepted }) => [validUntil, excepted.length]));
  const texts = certificateView(found, new Date(now)).lines.map(({ text }) => text);
  expect(
    texts
      .filter((text) => /^(Approved|Denied|Expired|Superseded|Revoked)/.test(text))
      .map((text) => text.split(/\W/)[0]),
  ).toEqual(
    items.map((item) => shown(item, now)).map((status) => status.replace(/^./, (letter) => letter.toUpperCase())),
  );
  expect(texts.filter((text) => text.startsWith('NO LONGER IN FORCE'))).toHaveLength(
    items.filter((item) => isOver(item, now)).length,
  );
}

/** The order has a line for each treatment that was approved at completion, held since the end of its approval. */
async function expectHolds(
  { context, numbers, treatments, now }: Lived,
  index: number,
  { lines }: Encounter,
): Promise<string[]> {
  const { order } = await showEncounter(context, numbers[index] ?? 0n);
  const stored = order && (await getOrder(context, order.orderNo));
  const held = lines.map((line) => ({ treatment: line.treatment, hold: shownHold(line, now) }));
  const found = (stored?.lines ?? []).map(({ productId, holdReason, holdAt }) => ({
    treatment: treatments.get(productId),
    hold: holdReason && { reason: holdReason, at: holdAt?.getTime() },
  }));
  expect(found).toEqual(held);
  return held.flatMap(({ hold }) => (hold ? [`held ${hold.reason}`] : []));
}
