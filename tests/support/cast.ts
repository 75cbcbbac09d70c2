import { readFile } from 'node:fs/promises';
import { importCatalog } from '../../src/domain/catalogImport.js';
import { hashClientSecret } from '../../src/domain/clientSecrets.js';
import { permissions } from '../../src/domain/permissions.js';
import { createTenant } from '../../src/domain/tenants.js';
import { exampleBody, operationOf } from './contract.js';
import { newToken, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call } from './http.js';

/** The people, places and things that the examples of the contract show, by the same ids. */
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
    /** In Phoenix only. */
    laser: '01a05c32-5e80-7000-8000-00000000b204',
  },
  jane: { id: '01a10caf-a4c0-7000-8000-00000000d001', email: 'jane.miller@example.com' },
  /** The new patient; {@link removeMaria} makes room for her. */
  maria: { id: '01a1f9af-a400-7000-8000-00000000d002', email: 'maria.lopez@example.com' },
  documents: {
    janeIntake: '01a1f9b4-37e0-7000-8000-00000000d0c1',
    mariaIdCard: '01a1f9b4-37e0-7000-8000-00000000d0c2',
  },
  encounter: { id: '01a1f9b8-cbc0-7000-8000-00000000e123', encounter_id: 100_123, order_no: 'ORD-100045' },
  otherEncounter: { gfe_no: 'GFE-100124' },
  nobody: '01a05c32-5e80-7fff-bfff-ffffffffffff',
} as const;

const { tenantId } = cast;
const imported = new Date('2026-09-01T09:00:00.000Z');
const texas = { stateId: '01a05c32-5e80-7000-8000-000000005048', countryId: '01a05c32-5e80-7000-8000-000000000840' };

/** Puts the cast on stage, with an encounter that waits for its review; the caller is its API client. */
export async function seedCast(harness: Harness): Promise<Partner> {
  const domain = { ...harness.domain, now: () => imported };
  await createTenant(domain, { id: tenantId, name: 'Northwind Aesthetics', mode: 'live' });
  const credentials = exampleCredentials();
  await domain.db.apiClient.create({
    data: {
      id: cast.apiClientId,
      tenantId,
      clientId: credentials.clientId,
      name: 'Partner',
      permissions: [...permissions],
      createdAt: imported,
      updatedAt: imported,
      secrets: {
        create: {
          id: domain.newId(),
          secretHash: hashClientSecret(credentials.clientSecret),
          hint: credentials.clientSecret.slice(-4),
          createdAt: imported,
        },
      },
    },
  });
  const result = await importCatalog(domain, tenantId, await catalogOfTheCast());
  if ('faults' in result) throw new Error(`The catalog has faults: ${JSON.stringify(result.faults)}`);
  await newJane(harness);
  await newDocument(harness, cast.documents.janeIntake, cast.jane.id, 'intake-forms');
  const partner = { tenantId, ...credentials, token: await newToken(harness, credentials) };
  await newEncounters(harness, partner);
  return partner;
}

/** The credentials in the example of a token request. */
function exampleCredentials(): { clientId: string; clientSecret: string } {
  const { client_id: clientId, client_secret: clientSecret } = exampleBody(
    operationOf('issueToken'),
    'client_credentials',
  );
  return { clientId: String(clientId), clientSecret: String(clientSecret) };
}

/** The demo's catalog holds the cast; the ids of all others are made when it is imported. */
async function catalogOfTheCast(): Promise<string> {
  const whole: unknown = JSON.parse(await readFile(new URL('../../prisma/demo/demo.json', import.meta.url), 'utf8'));
  return JSON.stringify(onlyWithIds(whole));
}

function onlyWithIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one: object) => 'id' in one).map(onlyWithIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, onlyWithIds(member)]));
}

async function newJane({ domain: { db } }: Harness): Promise<void> {
  const at = new Date('2026-10-05T15:30:00.000Z');
  await db.patient.create({
    data: {
      ...cast.jane,
      ...texas,
      tenantId,
      firstName: 'Jane',
      lastName: 'Miller',
      dateOfBirth: new Date('1990-06-30'),
      sex: 'female',
      phone: '5125550142',
      countryCode: '+1',
      isVerified: 'VERIFIED',
      address1: '1100 Barton Springs Road',
      address2: 'Apt 7',
      postal: '78704',
      notes: 'Prefers text messages.',
      emergencyContact: '5125550143',
      emergencyContactCode: '+1',
      emergencyContactName: 'Sam Miller',
      maritalStatus: 'single',
      gfeStateId: texas.stateId,
      isHomeAddressSameAsShipping: true,
      createdAt: at,
      updatedAt: at,
    },
  });
}

/** María, with a document of her own. */
export async function addMaria(harness: Harness): Promise<void> {
  const at = new Date('2026-11-20T16:00:00.000Z');
  await harness.domain.db.patient.create({
    data: {
      ...cast.maria,
      tenantId,
      firstName: 'María',
      lastName: 'López',
      dateOfBirth: new Date('1985-02-11'),
      sex: 'female',
      phone: '5125550177',
      countryCode: '+1',
      isVerified: 'NOTVERIFIED',
      isHomeAddressSameAsShipping: true,
      createdAt: at,
      updatedAt: at,
    },
  });
  await newDocument(harness, cast.documents.mariaIdCard, cast.maria.id, 'id-card');
}

/** As if María had never come, so that she can be created. */
export async function removeMaria({ domain: { db } }: Harness): Promise<void> {
  const { email } = cast.maria;
  await db.document.deleteMany({ where: { tenantId, patient: { is: { tenantId, email } } } });
  await db.patient.deleteMany({ where: { tenantId, email } });
}

async function newDocument({ domain: { db } }: Harness, id: string, patientId: string, docType: string): Promise<void> {
  const at = new Date('2026-11-20T16:05:00.000Z');
  const fileName = `${docType}.pdf`;
  await db.document.create({
    data: {
      id,
      tenantId,
      patientId,
      docType,
      storageProvider: 'file',
      container: 'documents',
      blobPath: fileName,
      contentType: 'application/pdf',
      sizeBytes: 48_213,
      checksum: '',
      fileName,
      originalFilename: fileName,
      uploadedById: cast.apiClientId,
      createdAt: at,
      updatedAt: at,
    },
  });
}

/** The service creates them, from the examples of their requests; then the first one gets its id. */
async function newEncounters(harness: Harness, { token }: Partner): Promise<void> {
  const {
    domain: { db },
    clock,
  } = harness;
  const { now } = clock;
  const { id, encounter_id: number } = cast.encounter;
  await db.$executeRawUnsafe(`ALTER TABLE encounter ALTER COLUMN encounter_no RESTART WITH ${number}`);
  clock.now = new Date('2026-11-20T16:10:00.000Z');
  for (const name of ['scheduled', 'minimal']) {
    const json = exampleBody(operationOf('createEncounter'), name);
    const { status, text } = await call(harness, 'POST /encounters', { token, json });
    if (status !== 201) throw new Error(`no encounter: ${text}`);
  }
  await db.$executeRaw`UPDATE encounter SET id = ${id}::uuid WHERE encounter_no = ${number}`;
  clock.now = now;
}

/** The review of the encounter is over: everything is approved and ordered. */
export async function completeEncounter({ domain: { db } }: Harness): Promise<void> {
  const { id: encounterId } = cast.encounter;
  const at = new Date('2026-12-01T21:05:00.000Z');
  await db.encounter.updateMany({
    where: { tenantId, id: encounterId },
    data: { status: 'completed', completedAt: at },
  });
  await db.gfeItem.updateMany({ where: { tenantId, encounterId }, data: { status: 'approved', decidedAt: at } });
  await db.$executeRaw`
    INSERT INTO "order" (id, tenant_id, encounter_id, order_sequence, order_status, sub_total, total_shipping_amt,
      grand_total, paid_amt, created_at, updated_at)
    OVERRIDING SYSTEM VALUE
    VALUES (${encounterId}::uuid, ${tenantId}, ${encounterId}::uuid, 100045, 'pending', 539, 15, 554, 0, ${at}, ${at})
    ON CONFLICT DO NOTHING`;
}

/** The encounter waits for its review again. */
export async function reopenEncounter({ domain: { db } }: Harness): Promise<void> {
  const { id: encounterId } = cast.encounter;
  await db.order.deleteMany({ where: { tenantId, encounterId } });
  await db.gfeItem.updateMany({
    where: { tenantId, encounterId },
    data: { status: 'pending_review', decidedAt: null },
  });
  await db.encounter.updateMany({
    where: { tenantId, id: encounterId },
    data: { status: 'pending_review', completedAt: null },
  });
}
