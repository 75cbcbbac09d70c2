import type { Database } from '../../../src/adapters/database/database.js';
import { openChart } from '../../../src/domain/reviews/chart.js';
import { encounterBody, newDocument, newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { callerContext, insertDocumentRow, insertPatientRow } from '../../support/patientLives.js';
import { claim, reviewBody, reviewer } from '../../support/reviews.js';

// A change of the chart races with the review of the chart that was read before. Events are in the order of commits, so
// they show which of them was first.

/** Races of each kind; `RACES=200` runs more. */
const races = Number(process.env['RACES'] ?? 10);

const harness = await openHarness();
const partner = await newPartner(harness);
const given = await encounterBody(harness, partner);

const send = (request: `${'GET' | 'POST' | 'PATCH'} /${string}`, json?: object): Promise<Answer> =>
  call(harness, request, { token: partner.token, ...(json && { json }) });

const changes: Readonly<Record<string, { event: string; change(patientId: string): Promise<unknown> }>> = {
  'a change to the medical history': {
    event: 'patient.updated',
    change: (patientId) => send(`PATCH /clients/${patientId}`, { medicalHistory: 'Pregnant' }),
  },
  'an upload of lab results': {
    event: 'document.created',
    change: async (patientId) =>
      insertDocumentRow(await callerContext(harness, partner, () => new Date()), patientId, 'lab-results'),
  },
  'a withdrawal of an ID card': {
    event: 'document.withdrawn',
    change: async (patientId) => {
      const { id } = await harness.domain.db.prisma.document.findFirstOrThrow({
        where: { tenantId: partner.tenantId, patientId },
      });
      return send(`POST /documents/${id}/withdraw`, { reason: 'wrong_patient' });
    },
  },
};

/** The types of the patient's events, in the order of their commits. */
async function eventsOf(patientId: string, encounterNo: number): Promise<string[]> {
  const rows = await harness.domain.db.prisma.$queryRaw<{ type: string }[]>`
    SELECT type::text FROM event WHERE tenant_id = ${partner.tenantId} AND (data->>'patientId' = ${patientId}
      OR data->>'user_id' = ${patientId} OR data->>'encounter_id' = ${String(encounterNo)}) ORDER BY position`;
  return rows.map(({ type }) => type);
}

it.each(Object.entries(changes))(
  `submitReview refuses a review of a chart that %s has made outdated, in ${races} races`,
  async (_name, { event, change }) => {
    const outcomes = new Set<string>();
    for (let number = 0; number < races; number += 1) {
      const patientId = await insertPatientRow(harness, partner);
      await newDocument(harness, partner, patientId, 'id-card');
      const encounter = await claim(harness, partner, await newEncounter(harness, partner, { ...given, patientId }));
      const path = `/encounters/${encounter.encounter_id}` as const;
      const read = await reviewBody(harness, partner, encounter);
      const review = (): Promise<Answer> => send(`POST ${path}/review`, read);
      const early = number % 2 === 0 ? change(patientId) : undefined;
      // One race in ten is certain, so that both outcomes occur on a slow machine, too.
      if (number % 10 === 0) await early;
      const answer = review();
      if (number % 10 === 1) await answer;
      await (early ?? change(patientId));
      const { status, body } = await answer;
      const types = (await eventsOf(patientId, encounter.encounter_id)).filter(
        (type) => type === event || type === 'encounter.completed',
      );
      outcomes.add(`${status} ${body.code ?? body.status}: ${types.join(', ')}`);
    }
    expect([...outcomes].sort()).toEqual([
      `200 completed: encounter.completed, ${event}`,
      `409 chart_changed: ${event}`,
    ]);
  },
  600_000,
);

it('getChart shows the information that its version counts, even if that arrives while the chart is read', async () => {
  const patientId = await insertPatientRow(harness, partner);
  const encounter = await claim(harness, partner, await newEncounter(harness, partner, { ...given, patientId }));
  const context = await callerContext(harness, partner, () => harness.clock.now);
  const inform = () => send(`POST /encounters/${encounter.encounter_id}/information`, { additionalNotes: 'Pregnant.' });
  const db: Database = {
    ...context.db,
    async snapshot(work) {
      expect((await inform()).status).toBe(200);
      return context.db.snapshot(work);
    },
  };
  const chart = await openChart({ ...context, db }, encounter.encounter_id, { reviewerRef: reviewer });
  expect(chart.encounter.information).toHaveLength(1);
});
