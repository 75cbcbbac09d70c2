import { readFile } from 'node:fs/promises';
import { Prisma } from '../../../generated/prisma/client.js';
import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import { packageRoot } from '../../packageRoot.js';
import { writeCatalog } from '../catalog/import/importCatalog.js';
import { readCatalog } from '../catalog/import/readCatalog.js';
import { insertDocument, storeFile, type StoredFile } from '../documents/upload.js';
import { presets } from '../access/permissions.js';
import { createEncounter, type EncounterRequest } from '../encounters/creation.js';
import type { EncounterRecord } from '../encounters/record.js';
import { requestInformation } from '../reviews/information.js';
import { revokeApprovals } from '../reviews/afterReview.js';
import { claimEncounter, submitReview } from '../reviews/review.js';
import { presentChartVersion } from '../reviews/chartVersion.js';
import type { NewOrder } from '../orders/orders.js';
import { recordPayment } from '../orders/payments.js';
import { createPatient } from '../patients/patients.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { exampleExchange } from './requests.js';
import { downloadSample, SAMPLE_HOST } from './sampleFiles.js';
import { restoreWebhooks } from './webhookFixtures.js';
import { tenantInsertion } from '../transactions/bulkSql.js';
import { flush } from '../transactions/changes.js';
import { findRows } from '../transactions/rows.js';

export type FixtureStore = Pick<ObjectStore, 'provider' | 'container' | 'put'>;

/** An id of the fixtures; of encounters, orders and payments it ends in a readable kind and number: `…e123`. */
const idOf = (ending: string): string => `01a1f9b8-cbc0-7000-8000-${ending.padStart(12, '0')}`;

const austin = '01a05c32-5e80-7000-8000-00000000c101';
const phoenix = '01a05c32-5e80-7000-8000-00000000c102';
const botox = '01a05c32-5e80-7000-8000-00000000b201';
const semaglutide = '01a05c32-5e80-7000-8000-00000000b202';
const glutathione = '01a05c32-5e80-7000-8000-00000000b210';
/** The treatment that a review of the fixtures declines. */
const tirzepatide = '01a05c32-5e80-7000-8000-00000000b207';
const jane = '01a10caf-a4c0-7000-8000-00000000d001';
const noah = '01a10caf-a4c0-7000-8000-00000000d003';
const intake = '01a1f9b4-37e0-7000-8000-00000000d0c1';
const texas = '01a05c32-5e80-7000-8000-000000005048';
const unitedStates = '01a05c32-5e80-7000-8000-000000000840';
const reviewerRef = '1234567893';

const janeMiller = {
  firstName: 'Jane',
  lastName: 'Miller',
  email: 'jane.miller@example.com',
  dateOfBirth: '1990-06-30',
  gender: 'female',
  phone: '5125550142',
  countryCode: '+1',
  address: '1100 Barton Springs Road',
  address2: 'Apt 7',
  stateId: texas,
  countryId: unitedStates,
  postalCode: '78704',
  notes: 'Prefers text messages.',
  emergencyContact: '5125550143',
  emergencyContactCode: '+1',
  emergencyContactName: 'Sam Miller',
  maritalStatus: 'single',
  gfeStateId: texas,
} as const;

const home = {
  name: 'Jane Miller',
  address1: janeMiller.address,
  address2: janeMiller.address2,
  city: 'Austin',
  state: 'TX',
  postal: janeMiller.postalCode,
  country: 'US',
  phone: '+15125550142',
} as const;

const noahReed = {
  firstName: 'Noah',
  lastName: 'Reed',
  email: 'noah.reed@example.com',
  dateOfBirth: '1979-03-02',
  phone: '5125550161',
  countryCode: '+1',
} as const;

const catalogAt = new Date('2026-09-01T09:00:00.000Z');
const patientAt = new Date('2026-10-05T15:30:00.000Z');

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Name of the API client that creates the fixtures; it is inactive. */
const CLIENT_NAME = 'Sandbox fixtures';

/** Stores the file of the fixtures' document. @throws Problem dependency_unavailable if the store fails */
export function storeFixtureFile(objects: FixtureStore, tenantId: string): Promise<StoredFile> {
  const scanner = { scanned: (body: AsyncIterable<Uint8Array>) => body };
  return storeFile({ caller: { tenantId }, download: downloadSample, objects, scanner }, jane, {
    documentId: intake,
    documentType: 'intake-forms',
    url: `https://${SAMPLE_HOST}/jane-miller-intake.pdf`,
    fileName: undefined,
  });
}

/**
 * Fills a sandbox with the records of the contract's examples, with equal ids in every tenant except for events (R-73),
 * by replaying the records' history up to now. One encounter waits for a live visit, one for a chart review, one is under
 * review, one waits for information; four are completed: one unpaid, one paid, one with a held line and a declined
 * treatment, and one that can be reordered, because no news about its patient has come since its review.
 * @param tenantId a new tenant, or one that a reset has emptied
 * @param file the result of {@link storeFixtureFile}
 */
export async function replayFixtures(context: TransactionContext, tenantId: string, file: StoredFile): Promise<void> {
  const caller = await fixtureCaller(context, tenantId);
  const now = context.now();
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  let ids = 0;
  const newId = (): string => idOf(String((ids += 1)));
  const events: CallerContext['events'] = [];
  const at = (time: Date): CallerContext => ({ ...context, caller, now: () => time, newId, events });
  const usual: EncounterRequest = {
    clinicId: austin,
    patientId: jane,
    serviceQueue: 'provider_network',
    reviewType: 'asynchronous',
    treatmentIds: [botox, semaglutide],
  };
  const create = (time: Date, number: number, body: Partial<EncounterRequest>) =>
    createEncounter(at(time), { ...usual, ...body }, { id: idOf(`e${number % 1000}`), encounterNo: BigInt(number) });
  const approve = async (
    time: Date,
    { encounterNo, gfeItems, treatments }: EncounterRecord,
    order: Omit<NewOrder, 'position'>,
  ) => {
    await claimEncounter(at(time), encounterNo, { reviewerRef });
    const decisions = gfeItems.map(({ categoryId, subcategoryId }) => {
      const declined = treatments.filter(
        (each) => each.productId === tirzepatide && each.subcategoryId === subcategoryId,
      );
      const exceptTreatmentIds = declined.map(({ productId }) => productId);
      return { categoryId, subcategoryId, decision: 'approved' as const, exceptTreatmentIds };
    });
    await flush(context);
    const chartVersion = await presentChartVersion(at(time), encounterNo);
    await submitReview(at(time), encounterNo, { reviewerRef, chartVersion, decisions }, order);
  };

  await importBundled(at(catalogAt), tenantId, 'prisma/demo/demo.json');
  await createPatient(at(patientAt), janeMiller, { id: jane, isVerified: 'VERIFIED' });

  const completed = await create(before(7 * DAY_MS), 100_126, {});
  await approve(before(6 * DAY_MS), completed, { id: idOf('f045'), orderSequence: 100_045n });
  const paid = await create(before(6 * DAY_MS), 100_131, {
    clinicId: phoenix,
    treatmentIds: [semaglutide],
    shipTo: home,
  });
  await approve(before(5 * DAY_MS), paid, { id: idOf('f051'), orderSequence: 100_051n });
  const payment = { amount: '299.00', reference: 'RCPT-2038' };
  await recordPayment(at(before(4 * DAY_MS)), 'ORD-100051', payment, idOf('fa51'));

  await insertDocument(at(before(5 * MINUTE_MS)), file);
  await create(now, 100_123, {
    reviewType: 'synchronous',
    scheduledDay: before(-11 * DAY_MS)
      .toISOString()
      .slice(0, 10),
    scheduledTime: '14:30:00',
    scheduledTimeZone: 'America/Chicago',
    documentIds: [intake],
    additionalNotes: 'Migraine twice a month. BP 118/76.',
    reference: 'APPT-20417',
    metadata: { appointmentType: 'first visit' },
  });
  await create(now, 100_124, { treatmentIds: [botox] });
  const { encounterNo } = await create(now, 100_125, {});
  // A long lease, so that users of the sandbox can continue as this provider.
  const claim = { reviewerRef, leaseSeconds: 4 * 3_600 };
  await claimEncounter(at(now), encounterNo, claim, null);
  const asked = await create(now, 100_127, { treatmentIds: [semaglutide] });
  await claimEncounter(at(now), asked.encounterNo, { reviewerRef });
  const message = 'Which dose did you take last, and when?';
  await requestInformation(at(now), asked.encounterNo, { reviewerRef, message });
  await createPatient(at(patientAt), noahReed, { id: noah, isVerified: 'NOTVERIFIED' });
  const held = await create(before(3 * DAY_MS), 100_132, {
    patientId: noah,
    treatmentIds: [botox, semaglutide, tirzepatide],
  });
  await approve(before(2 * DAY_MS), held, { id: idOf('f052'), orderSequence: 100_052n });
  const part = { amount: '255.00', reference: 'RCPT-2039' };
  await recordPayment(at(before(2 * DAY_MS)), 'ORD-100052', part, idOf('fa52'));
  const [, ...items] = held.gfeItems;
  const revocation = { reviewerRef, items, reason: 'The lab result arrived after the decision.' };
  await revokeApprovals(at(before(DAY_MS)), held.encounterNo, revocation);
  const again = await create(before(DAY_MS / 2), 100_133, { patientId: noah, treatmentIds: [glutathione] });
  await approve(before(DAY_MS / 4), again, { id: idOf('f053'), orderSequence: 100_053n });
  // Give events new ids at each reset: consumers ignore events whose ids they know.
  const told = events.map((event) => ({ ...event, id: context.newId() }));
  context.events.push(...told);
  await restoreWebhooks(at(now), told);
  context.changes.push(tenantInsertion(tenantId, 'sandbox_exchange', [exampleExchange(now)]));
}

/** Imports a catalog that is part of this build; any fault in it is a defect of the build. */
export async function importBundled(context: TransactionContext, tenantId: string, path: string): Promise<void> {
  const file = readCatalog(await readFile(new URL(path, packageRoot), 'utf8'));
  const result = await writeCatalog(context, tenantId, file);
  if (!('faults' in result)) return;
  const faults = result.faults.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  throw new Error(`${path}:${faults.join('; ')}. Correct this file.`);
}

async function fixtureCaller(context: TransactionContext, tenantId: string): Promise<CallerContext['caller']> {
  const id = context.newId();
  const now = context.now();
  const inactive = { permissions: [...presets.partner], allowedClinicIds: [], isActive: false };
  const row = { id, clientId: `ces_fixtures_${id}`, name: CLIENT_NAME, ...inactive, createdAt: now, updatedAt: now };
  const { db } = context;
  await db.of(tenantId).run`${tenantInsertion(tenantId, 'api_client', [row])} ON CONFLICT (tenant_id, name) DO NOTHING`;
  const [stored] = await findRows(db, tenantId, 'ApiClient', Prisma.sql`name = ${CLIENT_NAME}`);
  if (!stored) throw new Error('the API client of the fixtures is missing after its creation: correct fixtureCaller');
  const { id: apiClientId, clientId } = stored;
  const unlimited = { permissions: new Set<never>(), allowedClinicIds: null, allowedPharmacyIds: null };
  return { tenantId, tenantMode: 'sandbox', apiClientId, clientId, ...unlimited };
}
