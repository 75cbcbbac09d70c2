import { configureTenant } from '../../../src/domain/access/tenants.js';
import { withdrawDocument } from '../../../src/domain/documents/documents.js';
import { createEncounter, type EncounterRecord } from '../../../src/domain/encounters/encounters.js';
import { claimEncounter, submitReview } from '../../../src/domain/reviews/review.js';
import { presentChartVersion } from '../../../src/domain/reviews/chartVersion.js';
import { revokeApprovals } from '../../../src/domain/reviews/revocation.js';
import { updatePatient } from '../../../src/domain/patients/update.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { encounterBody, newDocument, newPartner, type EncounterBody, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext, insertDocumentRow, insertPatientRow } from '../../support/patientLives.js';

// Contradictions of an approval race with requests that would reuse it. Events are in the order of commits, so they show
// whether a request was created before or after the contradiction.

/** Races of each kind; `RACES=200` runs more. */
const races = Number(process.env['RACES'] ?? 20);
const REQUESTS = 4;

let harness: Harness;
let partner: Partner;
let given: EncounterBody;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
  given = await encounterBody(harness, partner);
});
afterAll(() => harness.close());

const act = async <T>(work: (transaction: CallerContext) => Promise<T>): Promise<T> =>
  inCallerTransaction(await callerContext(harness, partner, () => new Date()), work);
const create = (patientId: string, changes = {}): Promise<EncounterRecord> =>
  act((transaction) =>
    createEncounter(transaction, { ...given, patientId, ...changes } as Parameters<typeof createEncounter>[1]),
  );
const claim = ({ encounterNo }: EncounterRecord) =>
  act((transaction) => claimEncounter(transaction, encounterNo, { reviewerRef: 'A' }));
const itemsOf = ({ gfeItems }: EncounterRecord) =>
  gfeItems.map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId }));
const decide = (
  encounter: EncounterRecord,
  decision: 'approved' | 'denied',
  visit?: { startedAt: string; endedAt: string },
) =>
  act(async (transaction) => {
    const chartVersion = await presentChartVersion(transaction, encounter.encounterNo);
    const decisions = itemsOf(encounter).map((item) => ({ ...item, decision, reason: 'x' }));
    const review = { reviewerRef: 'A', chartVersion, decisions, ...(visit ? { visit } : {}) };
    return submitReview(transaction, encounter.encounterNo, review);
  });

interface Contradiction {
  /** Announces the contradiction. */
  readonly event: string;
  /** Work before the race; returns the contradiction itself. */
  prepare(approved: EncounterRecord): Promise<() => Promise<unknown>>;
}

const contradictions: Readonly<Record<string, Contradiction>> = {
  'a denial': {
    event: 'gfe.superseded',
    async prepare({ patientId }) {
      const other = await create(patientId, { reviewType: 'synchronous' });
      await claim(other);
      const now = new Date().toISOString();
      return () => decide(other, 'denied', { startedAt: now, endedAt: now });
    },
  },
  'a revocation': {
    event: 'gfe.revoked',
    prepare: async (approved) => () =>
      act((transaction) => {
        const revocation = { reviewerRef: 'B', items: itemsOf(approved), reason: 'x' };
        return revokeApprovals(transaction, approved.encounterNo, revocation);
      }),
  },
  'a change to the medical history': {
    event: 'patient.updated',
    prepare:
      async ({ patientId }) =>
      () =>
        act((transaction) =>
          updatePatient(transaction, patientId, { medicalHistory: 'Myasthenia gravis' }, () => true),
        ),
  },
  'an upload of lab results': {
    event: 'document.created',
    prepare:
      async ({ patientId }) =>
      async () =>
        insertDocumentRow(await callerContext(harness, partner, () => new Date()), patientId, 'lab-results'),
  },
  'a withdrawal of lab results': {
    event: 'document.withdrawn',
    async prepare({ patientId }) {
      const id = await newDocument(harness, partner, patientId);
      return () => act((transaction) => withdrawDocument(transaction, id, { reason: 'illegible' }));
    },
  },
};

type EncounterEvent = Readonly<{ position: bigint; type: string; encounter: number | null; status: string | null }>;

const eventsOf = (patientId: string): Promise<EncounterEvent[]> => harness.domain.db.prisma.$queryRaw`
  SELECT position, type::text, (data->>'encounter_id')::int AS encounter, data->>'status' AS status FROM event
  WHERE tenant_id = ${partner.tenantId} AND (data->>'patientId' = ${patientId} OR data->>'user_id' = ${patientId})
  ORDER BY position`;

/** One race; returns the violations. */
async function race({ event, prepare }: Contradiction, isFirst: boolean): Promise<string[]> {
  const patientId = await insertPatientRow(harness, partner);
  const first = await create(patientId);
  await claim(first);
  const contradict = await prepare(await decide(first, 'approved'));
  const requests = () => Array.from({ length: REQUESTS }, () => create(patientId));
  await Promise.all(isFirst ? [contradict(), ...requests()] : [...requests(), contradict()]);
  const events = await eventsOf(patientId);
  const end = events.find(({ type }) => type === event)?.position;
  if (end === undefined) return [`no ${event}`];
  const { db } = harness.domain;
  const items = await db.prisma.gfeItem.findMany({
    where: { tenantId: partner.tenantId, encounter: { is: { tenantId: partner.tenantId, patientId } } },
    select: { status: true, reusedFromEncounterId: true, encounter: { select: { encounterNo: true } } },
  });
  return events
    .filter(({ type }) => type === 'encounter.created')
    .slice(1)
    .flatMap(({ position, status, encounter }) => {
      if (status !== 'completed') return [];
      if (position > end) return [`${encounter} reuses an approval that was over`];
      // If the approval ends, items that reused it before end, too.
      const item = items.find((each) => Number(each.encounter.encounterNo) === encounter);
      const isOver = ['superseded', 'revoked'].includes(item?.status ?? '');
      return event.startsWith('gfe.') && !isOver ? [`${encounter} kept what it reused`] : [];
    });
}

it.each(Object.entries(contradictions))(
  `never reuses an approval after its contradiction by %s, in ${races} races`,
  async (_name, contradiction) => {
    const violations: string[] = [];
    for (let number = 0; number < races; number += 1) violations.push(...(await race(contradiction, number % 2 === 0)));
    expect(violations).toEqual([]);
  },
  600_000,
);
