import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { createSandbox } from '../../src/domain/sandbox/reset.js';
import { exampleBody, operationOf } from './contract.js';
import { missingFile, newToken, patientColumns, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call } from './http.js';

/** The records that the examples of the contract show, with their ids. */
export const cast = {
  tenantId: 'northwind',
  apiClientId: '01a05c32-5e80-7000-8000-00000000ac01',
  requestId: '01a1f9b8-cbc0-7000-8000-00000000f00d',
  clinics: {
    austin: '01a05c32-5e80-7000-8000-00000000c101',
    phoenix: '01a05c32-5e80-7000-8000-00000000c102',
    /** Inactive. */
    denver: '01a05c32-5e80-7000-8000-00000000c103',
  },
  products: {
    botox: '01a05c32-5e80-7000-8000-00000000b201',
    semaglutide: '01a05c32-5e80-7000-8000-00000000b202',
    /** Inactive. */
    vitaminB12: '01a05c32-5e80-7000-8000-00000000b203',
    /** Available only in Phoenix. */
    laser: '01a05c32-5e80-7000-8000-00000000b204',
    /** Every review of the fixtures declines it. */
    tirzepatide: '01a05c32-5e80-7000-8000-00000000b207',
    glutathione: '01a05c32-5e80-7000-8000-00000000b210',
  },
  jane: { id: '01a10caf-a4c0-7000-8000-00000000d001', email: 'jane.miller@example.com' },
  /** Not verified. */
  noah: { id: '01a10caf-a4c0-7000-8000-00000000d003', email: 'noah.reed@example.com' },
  /** The new patient of the examples; the fixtures lack her. */
  maria: { id: '01a1f9af-a400-7000-8000-00000000d002', email: 'maria.lopez@example.com' },
  documents: {
    janeIntake: '01a1f9b4-37e0-7000-8000-00000000d0c1',
    mariaIdCard: '01a1f9b4-37e0-7000-8000-00000000d0c2',
  },
  encounters: {
    /** Waits for a live visit on 2026-12-01. */
    scheduled: { encounter_id: 100_123, gfe_no: 'GFE-100123' },
    /** Waits for a chart review. */
    waiting: { encounter_id: 100_124, gfe_no: 'GFE-100124' },
    /** Under review by {@link cast.reviewerRef}. */
    claimed: { encounter_id: 100_125, gfe_no: 'GFE-100125' },
    /** Waits for information. */
    asked: { encounter_id: 100_127, gfe_no: 'GFE-100127' },
    /** Its order is not paid. */
    completed: { encounter_id: 100_126, gfe_no: 'GFE-100126', order_no: 'ORD-100045' },
    /** Its order is paid. */
    paid: { encounter_id: 100_131, gfe_no: 'GFE-100131', order_no: 'ORD-100051' },
    /** One line of its order is held, the other is paid; the order lacks a treatment that the review declined. */
    held: { encounter_id: 100_132, gfe_no: 'GFE-100132', order_no: 'ORD-100052' },
    /** No facts have changed since its review, so that it can be reordered. */
    unchanged: { encounter_id: 100_133, gfe_no: 'GFE-100133', order_no: 'ORD-100053' },
  },
  /** Receives no events. */
  webhook: '01a1f9b8-cbc0-7000-8000-00000000ab01',
  reviewerRef: '1234567893',
  absent: '01a05c32-5e80-7fff-bfff-ffffffffffff',
} as const;

/** When the examples are sent. */
export const castTime = new Date('2026-11-20T16:10:00.000Z');

const { tenantId } = cast;

/**
 * Creates the sandbox of the examples with its fixtures and sets the clock to their time. The returned API client has
 * the credentials of the examples and every permission.
 */
export async function seedCast(harness: Harness): Promise<Partner> {
  harness.clock.now = castTime;
  const { domain, services } = harness;
  await createSandbox(domain, { id: tenantId, name: 'Northwind Aesthetics' }, services.objects);
  const login = exampleBody(operationOf('issueToken'), 'client_credentials');
  const [clientId, clientSecret] = [String(login['client_id']), String(login['client_secret'])];
  const times = { createdAt: domain.now(), updatedAt: domain.now() };
  const client = { id: cast.apiClientId, tenantId, clientId, name: 'Partner', permissions: [...permissions] };
  const hint = clientSecret.slice(-4);
  const secret = { id: domain.newId(), secretHash: hashClientSecret(clientSecret), hint, createdAt: domain.now() };
  await domain.db.prisma.apiClient.create({ data: { ...client, ...times, secrets: { create: secret } } });
  return { tenantId, clientId, clientSecret, token: await newToken(harness, { clientId, clientSecret }) };
}

/** Restores the state of {@link seedCast}. */
export async function resetCast(harness: Harness, { token }: Pick<Partner, 'token'>): Promise<void> {
  harness.clock.now = castTime;
  const { status, text } = await call(harness, 'POST /sandbox/reset', { token });
  if (status !== 204) throw new Error(`no reset: ${text}`);
  // A reset keeps webhook endpoints.
  await harness.domain.db.prisma.webhookEndpoint.deleteMany({ where: { tenantId, apiClientId: cast.apiClientId } });
}

/** Sorts cases that only read first: they can share a reset, which costs more than most requests. */
export function readsFirst<T>(cases: readonly T[], onlyReads: (one: T) => boolean): T[] {
  return [...cases.filter(onlyReads), ...cases.filter((value) => !onlyReads(value))];
}

/** Adds María and her document. */
export async function addMaria({ domain: { db } }: Harness): Promise<void> {
  const times = { createdAt: castTime, updatedAt: castTime };
  await db.prisma.patient.create({
    data: { ...patientColumns, ...cast.maria, tenantId, firstName: 'María', lastName: 'López', ...times },
  });
  await db.prisma.document.create({
    data: {
      id: cast.documents.mariaIdCard,
      tenantId,
      patientId: cast.maria.id,
      docType: 'id-card',
      ...missingFile,
      uploadedById: cast.apiClientId,
      ...times,
    },
  });
}

/** Moves the clock to the scheduled visit and claims it. */
export async function claimTheVisit(harness: Harness, { token }: { readonly token: string }): Promise<void> {
  const offsetSeconds = (Date.parse('2026-12-01T20:30:00Z') - castTime.getTime()) / 1000;
  await call(harness, 'PUT /sandbox/clock', { token, json: { offsetSeconds } });
  const target = `POST /encounters/${cast.encounters.scheduled.encounter_id}/claim`;
  const visitUrl = 'https://visits.northwind.example/100123';
  await call(harness, target, { token, json: { reviewerRef: cast.reviewerRef, visitUrl } });
}

/** Ends every approval behind the orders of the examples. */
export async function revokeOrders(harness: Harness, { token }: { readonly token: string }): Promise<void> {
  for (const { encounter_id } of [cast.encounters.completed, cast.encounters.paid, cast.encounters.unchanged]) {
    const target = `POST /sandbox/encounters/${encounter_id}/simulate`;
    await call(harness, target, { token, json: { outcome: 'revoke' } });
  }
}
