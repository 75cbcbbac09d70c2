import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../packageRoot.js';
import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import type { EventType } from '../../contract.js';
import { tableChanges } from '../catalog/import/importCatalog.js';
import { planCatalog } from '../catalog/import/planCatalog.js';
import { readCatalog, type CatalogFile } from '../catalog/import/readCatalog.js';
import { blobPath } from '../documents/fileRules.js';
import type { EventDataOf } from '../events/record.js';
import type { RowSet } from '../transactions/bulkSql.js';
import type { NewEvent } from '../transactions/outbox.js';
import { samplePdf, sha256 } from './sampleFiles.js';
import { fixtureAmounts, encounterRows, FIXTURE_ORDER, type FixtureEncounter } from './fixtureEncounters.js';

/** What the examples of the contract show, by the same ids, for every sandbox tenant. */

/** Whose fixtures, and when they are put in place. */
export interface FixtureScene {
  readonly tenantId: string;
  readonly currency: string;
  readonly now: Date;
  readonly newId: () => string;
  /** The API client that the document is of. */
  readonly uploadedById: string;
  readonly store: Pick<ObjectStore, 'provider' | 'container'>;
}

const austin = '01a05c32-5e80-7000-8000-00000000c101';
const botox = '01a05c32-5e80-7000-8000-00000000b201';
const semaglutide = '01a05c32-5e80-7000-8000-00000000b202';
const jane = '01a10caf-a4c0-7000-8000-00000000d001';
const texas = '01a05c32-5e80-7000-8000-000000005048';
const unitedStates = '01a05c32-5e80-7000-8000-000000000840';
const reviewerRef = '1234567893';
const intake = {
  documentId: '01a1f9b4-37e0-7000-8000-00000000d0c1',
  patientId: jane,
  documentType: 'intake-forms',
  fileName: 'jane-miller-intake.pdf',
} as const;

const catalogAt = new Date('2026-09-01T09:00:00.000Z');
const patientAt = new Date('2026-10-05T15:30:00.000Z');

const DAY_MS = 24 * 3_600_000;
const daysFrom = (time: Date, days: number): Date => new Date(time.getTime() + days * DAY_MS);

const CATALOG = 'prisma/demo/demo.json';
let catalogFile: CatalogFile | undefined;

/** Read when first needed; it is a part of this build, and every element has an id. */
export async function fixtureCatalog(): Promise<CatalogFile> {
  if (catalogFile) return catalogFile;
  const file = readCatalog(await readFile(new URL(CATALOG, packageRoot), 'utf8'));
  if ('faults' in file) throw new Error(`${CATALOG}: ${file.faults.map(({ message }) => message).join('; ')}`);
  return (catalogFile = file);
}

/** Where the file of the fixtures' document lies, and what it holds. */
export const fixtureObject = (tenantId: string) => ({ key: blobPath({ tenantId, ...intake }), content: samplePdf });

/** All rows of a sandbox tenant that has nothing yet, but its events. */
export function fixtureRows(scene: FixtureScene, { catalog }: CatalogFile): RowSet[] {
  const { tenantId, currency, now } = scene;
  const place = { tenantId, clinicId: austin, patientId: jane, currency, catalog };
  return [
    ...catalogRows(tenantId, catalog),
    { table: 'client', rows: [patientRow(tenantId)] },
    { table: 'document', rows: [documentRow(scene)] },
    ...encounterRows(place, fixtureEncounters(now)),
  ].filter(({ rows }) => rows.length > 0);
}

/** What an import of the catalog into an empty tenant writes. */
function catalogRows(tenantId: string, catalog: CatalogFile['catalog']): RowSet[] {
  const fail = (pointer: string, message = 'has no id'): never => {
    throw new Error(`${CATALOG}: ${pointer} ${message}`);
  };
  const nothing = { clinics: [], categories: [], products: [] };
  const plan = planCatalog({ newId: () => fail(''), fault: fail }, catalog, nothing);
  return tableChanges(plan, tenantId, catalogAt);
}

function patientRow(tenantId: string) {
  return {
    id: jane,
    tenantId,
    firstName: 'Jane',
    lastName: 'Miller',
    email: 'jane.miller@example.com',
    dateOfBirth: '1990-06-30',
    sex: 'female',
    phone: '5125550142',
    countryCode: '+1',
    isVerified: 'VERIFIED',
    address1: '1100 Barton Springs Road',
    address2: 'Apt 7',
    stateId: texas,
    countryId: unitedStates,
    postal: '78704',
    notes: 'Prefers text messages.',
    emergencyContact: '5125550143',
    emergencyContactCode: '+1',
    emergencyContactName: 'Sam Miller',
    maritalStatus: 'single',
    gfeStateId: texas,
    isHomeAddressSameAsShipping: true,
    createdAt: patientAt,
    updatedAt: patientAt,
  };
}

const uploadedAt = (now: Date): Date => new Date(now.getTime() - 5 * 60_000);

function documentRow({ tenantId, now, uploadedById, store }: FixtureScene) {
  return {
    id: intake.documentId,
    tenantId,
    patientId: jane,
    docType: intake.documentType,
    storageProvider: store.provider,
    container: store.container,
    blobPath: fixtureObject(tenantId).key,
    contentType: 'application/pdf',
    sizeBytes: samplePdf.length,
    checksum: sha256(samplePdf),
    fileName: intake.fileName,
    originalFilename: intake.fileName,
    uploadedById,
    createdAt: uploadedAt(now),
    updatedAt: uploadedAt(now),
  };
}

/** One that waits for a live visit, one that waits for a chart review, one under review, one completed and not paid. */
function fixtureEncounters(now: Date): FixtureEncounter[] {
  const schedule = {
    scheduledDay: daysFrom(now, 11).toISOString().slice(0, 10),
    scheduledTime: '14:30:00',
    scheduledTimeZone: 'America/Chicago',
  };
  const both = { treatmentIds: [botox, semaglutide], reviewType: 'asynchronous' } as const;
  const live = { reviewType: 'synchronous', documentId: intake.documentId, schedule } as const;
  const claimed = { reviewerRef, at: now, until: new Date(now.getTime() + 4 * 3_600_000) };
  const finished = { reviewerRef, at: daysFrom(now, -6), until: null };
  return [
    { ...both, ...live, number: 100_123, createdAt: now, notes: 'Migraine twice a month. BP 118/76.' },
    { number: 100_124, createdAt: now, treatmentIds: [botox], reviewType: 'asynchronous' },
    { ...both, number: 100_125, createdAt: now, review: claimed },
    { ...both, number: 100_126, createdAt: daysFrom(now, -7), review: finished },
  ];
}

/** What has happened so far, as the service would have told it. */
export function fixtureEvents({ tenantId, now, newId }: FixtureScene, { catalog }: CatalogFile): NewEvent[] {
  const row = <T extends EventType>(timestamp: Date, clinicId: string | null, type: T, data: EventDataOf<T>) => {
    return { id: newId(), tenantId, type, clinicId, data, timestamp };
  };
  const ofEncounters = fixtureEncounters(now).flatMap((encounter) => {
    const { number, createdAt, reviewType, treatmentIds, review } = encounter;
    const numbers = { encounter_id: number, gfe_no: `GFE-${number}` };
    const waiting = { status: 'pending_review', reviewType, clinicId: austin, patientId: jane } as const;
    const order_no = `ORD-${FIXTURE_ORDER}`;
    const decided = { ...numbers, approved: treatmentIds.length, denied: 0, order_no };
    const total = fixtureAmounts({ catalog }, encounter).grandTotal.toFixed(2);
    const amounts = { grand_total: total, balance_amt: total };
    const order = { order_no, encounter_id: number, order_status: 'pending', ...amounts } as const;
    return [
      row(createdAt, austin, 'encounter.created', { ...numbers, ...waiting }),
      ...(review ? [row(review.at, austin, 'encounter.review_started', numbers)] : []),
      ...(review?.until === null
        ? [row(review.at, austin, 'encounter.completed', decided), row(review.at, austin, 'order.created', order)]
        : []),
    ];
  });
  const { documentId, documentType: docType } = intake;
  return [
    row(patientAt, null, 'patient.created', { user_id: jane }),
    row(uploadedAt(now), null, 'document.created', { documentId, user_id: jane, docType }),
    ...ofEncounters,
  ].sort((a, b) => a.timestamp.getTime() - b.timestamp.getTime());
}
