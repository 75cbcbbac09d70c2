import type { Database } from '../../../src/adapters/database/database.js';
import { openChart } from '../../../src/domain/reviews/chart.js';
import { holdExpiredLines } from '../../../src/domain/sweeps/orderHolds.js';
import { everyCase } from '../../support/everyCase.js';
import {
  encounterBody,
  newDocument,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  type EncounterBody,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { callerContext } from '../../support/patientLives.js';
import {
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  deny,
  reviewBody,
  reviewed,
  reviewer,
  revoked,
} from '../../support/reviews.js';

let body: EncounterBody;
/** Another patient with the same birth date and last name, if the case has one. */
let duplicate: string;
/** A finished encounter of the patient, and the one under review. */
let earlier: Answer['body'];
let encounter: Answer['body'];
const harness = await openHarness();
const partner = await newPartner(harness);

const post = (path: string, json: object): Promise<Answer> =>
  call(harness, `POST ${path}`, { token: partner.token, json });
const read = async (path: string): Promise<Answer['body']> =>
  (await call(harness, `GET ${path}`, { token: partner.token })).body;
const patch = (json: object) => (): Promise<Answer> =>
  call(harness, `PATCH /clients/${body.patientId}`, { token: partner.token, json });
const versionOf = async (): Promise<string> =>
  (await read(`/encounters/${encounter.encounter_id}/chart?reviewerRef=${reviewer}`)).chartVersion;
const submit = async (chartVersion: string): Promise<Answer> => {
  const review = await reviewBody(harness, partner, encounter);
  return post(`/encounters/${encounter.encounter_id}/review`, { ...review, chartVersion });
};

async function answerQuestion(): Promise<void> {
  const documentIds = [await newDocument(harness, partner, body.patientId)];
  const { encounter_id } = encounter;
  const path = `/encounters/${encounter_id}` as const;
  await post(`${path}/request-information`, { reviewerRef: reviewer, message: 'Which medication?' });
  await post(`${path}/information`, { additionalNotes: 'Aspirin', documentIds });
  encounter = await claim(harness, partner, encounter);
}
async function denyElsewhere(): Promise<void> {
  const treatmentIds = [await newProduct(harness, partner)];
  await reviewed(harness, partner, await newEncounter(harness, partner, { ...body, treatmentIds }), deny);
}
async function cancelElsewhere(): Promise<void> {
  const treatmentIds = [await newProduct(harness, partner)];
  const other = await newEncounter(harness, partner, { ...body, treatmentIds });
  await cancelled(harness, partner, other, 'clinically_inappropriate');
}
const newDuplicate = (): Promise<string> => newPatient(harness, partner, { lastName: body.clinicId });
async function denyTwin(): Promise<void> {
  await reviewed(harness, partner, await newEncounter(harness, partner, { patientId: duplicate }), deny);
}
const addendum = (): Promise<Answer> =>
  post(`/encounters/${earlier.encounter_id}/addenda`, { reviewerRef: reviewer, text: 'Allergic to latex' });

/** The prescription changes in the catalog, and an update of the encounter takes it from there. */
async function prescribeAgain(): Promise<void> {
  const { encounter_id } = encounter;
  await post(`/encounters/${encounter_id}/release`, { reviewerRef: reviewer });
  const where = { tenantId: partner.tenantId, productId: { in: [...body.treatmentIds] } };
  await harness.domain.db.prisma.productRx.updateMany({ where, data: { rxQty: 20 } });
  for (const reviewType of ['synchronous', 'asynchronous']) {
    await call(harness, `PATCH /encounters/${encounter_id}`, { token: partner.token, json: { reviewType } });
  }
  await claim(harness, partner, encounter);
}

/** Preparations of a case before its chart is read. */
const withEarlier = async (): Promise<unknown> => (earlier = await completedEncounter(harness, partner, body));
const withDuplicate = async (): Promise<unknown> => (duplicate = await newDuplicate());

const changes: readonly [string, () => Promise<unknown>, changed: string[], before?: () => Promise<unknown>][] = [
  ['another name', patch({ lastName: 'Another' }), ['patient']],
  ['another birth date', patch({ dateOfBirth: '1971-01-01' }), ['patient']],
  ['another insurance', patch({ insuranceInfo: 'None' }), ['patient']],
  ['another medical history', patch({ medicalHistory: 'Pregnant' }), ['medicalHistory']],
  ['other notes', patch({ notes: 'Pregnant' }), ['notes']],
  ['information and a document of the partner', answerQuestion, ['information', 'documents']],
  ['a document that no encounter names', () => newDocument(harness, partner, body.patientId), ['documents']],
  ['a cancellation elsewhere', cancelElsewhere, ['decisions']],
  ['a denial elsewhere', denyElsewhere, ['decisions']],
  [
    'a revocation elsewhere, which holds lines',
    () => revoked(harness, partner, earlier),
    ['decisions', 'treatments'],
    withEarlier,
  ],
  ['an addendum elsewhere', addendum, ['decisions'], withEarlier],
  ['a new possible duplicate', newDuplicate, ['patient']],
  ['a denial of a possible duplicate', denyTwin, ['patient'], withDuplicate],
  ['another prescription', prescribeAgain, ['treatments']],
];

it('submitReview answers chart_changed with the changed parts, stores nothing and keeps the claim', async () => {
  await everyCase(
    changes,
    ([name]) => name,
    async ([, change, changed, before]) => {
      const treatmentIds = [await newProduct(harness, partner, { isRx: true })];
      body = { ...(await encounterBody(harness, partner)), treatmentIds };
      await patch({ lastName: body.clinicId })();
      await before?.();
      encounter = await claim(harness, partner, await newEncounter(harness, partner, body));
      const version = await versionOf();
      await change();
      const stored = await read(`/encounters/${encounter.encounter_id}`);
      const refused = await submit(version);
      expect(refused).toMatchObject({ status: 409, body: { code: 'chart_changed', changed } });
      expect(await read(`/encounters/${encounter.encounter_id}`)).toEqual(stored);
      expect(stored).toMatchObject({ status: 'in_review', reviewerRef: reviewer });
    },
  );
});

it('submitReview accepts the chartVersion of an unchanged chart, even if contact data of the patient changed', async () => {
  encounter = await claim(
    harness,
    partner,
    await newEncounter(harness, partner, (body = await encounterBody(harness, partner))),
  );
  const version = await versionOf();
  await patch({ phone: '5550100999', address: '1 Other Street' })();
  expect((await submit(version)).status).toBe(200);
});

it('submitReview accepts the chartVersion of a chart after a sweep has recorded the hold of an expired approval', async () => {
  body = await encounterBody(harness, partner);
  await completedEncounter(harness, partner, body);
  const { now } = harness.clock;
  const where = { tenantId: partner.tenantId, holdReason: null };
  await harness.domain.db.prisma.orderLine.updateMany({ where, data: { expiresAt: now } });
  encounter = await claim(harness, partner, await newEncounter(harness, partner, body));
  const version = await versionOf();
  await holdExpiredLines(harness.services);
  expect(await harness.domain.db.prisma.orderLine.count({ where })).toBe(0);
  expect((await submit(version)).status).toBe(200);
});

it('getChart shows information that arrives just before its snapshot begins', async () => {
  const { encounter_id } = await claimedEncounter(harness, partner);
  const context = await callerContext(harness, partner, () => harness.clock.now);
  const inform = () => post(`/encounters/${encounter_id}/information`, { additionalNotes: 'Pregnant.' });
  const db: Database = {
    ...context.db,
    async snapshot(work) {
      expect((await inform()).status).toBe(200);
      return context.db.snapshot(work);
    },
  };
  const chart = await openChart({ ...context, db }, encounter_id, { reviewerRef: reviewer });
  expect(chart.encounter.information).toHaveLength(1);
});
