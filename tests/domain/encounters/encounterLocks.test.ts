import { setTimeout as delay } from 'node:timers/promises';
import { Prisma } from '../../../generated/prisma/client.js';
import { identifier } from '../../../src/domain/transactions/bulkSql.js';
import {
  encounterBody,
  newDocument,
  newPartner,
  newPatient,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';

// The rows of an encounter are written with its events, while the tenant's event counter is locked. Foreign keys lock what
// they refer to: if that were not locked before, one locked row would hold up all changes of the tenant.

let harness: Harness;
let partner: Partner;
let body: EncounterBody & { readonly documentIds: readonly string[] };
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const valid = await encounterBody(harness, partner);
  body = { ...valid, documentIds: [await newDocument(harness, partner, valid.patientId)] };
});
afterAll(() => harness.close());

/** What a new encounter refers to: the tables that the foreign keys of its rows name. */
const referred: Readonly<Record<string, (sent: typeof body) => string | undefined>> = {
  client: ({ patientId }) => patientId,
  clinic: ({ clinicId }) => clinicId,
  document: ({ documentIds }) => documentIds[0],
  product: ({ treatmentIds }) => treatmentIds[0],
};

it('everything that the rows of an encounter refer to is tried here', async () => {
  const names = await harness.domain.db.prisma.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT relname::text AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = confrelid
    WHERE contype = 'f' AND conrelid = ANY (
      '{encounter,encounter_treatment,encounter_document,gfe_item}'::regclass[]) ORDER BY name`;
  // Nobody has claimed or reviewed a new one. One that reuses an approval is written before its events.
  const later = ['api_client', 'encounter', 'order'];
  expect(names.map(({ name }) => name).filter((name) => !later.includes(name))).toEqual(Object.keys(referred));
});

it.each(Object.entries(referred))(
  'an encounter that waits for its %s does not hold up other changes of the tenant',
  async (table, idOf) => {
    let waiting: Promise<Answer> | undefined;
    let answered = false;
    await harness.domain.db.prisma.$transaction(async (db) => {
      await db.$executeRaw`
        SELECT FROM ${identifier(table)} WHERE tenant_id = ${partner.tenantId} AND id = ${idOf(body)}::uuid FOR UPDATE`;
      waiting = call(harness, 'POST /encounters', { token: partner.token, json: body }).finally(
        () => (answered = true),
      );
      const waits = Prisma.sql`SELECT FROM pg_locks WHERE NOT granted
        AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`;
      while (!answered && (await db.$queryRaw<object[]>(waits)).length === 0) await delay(5);
      expect(answered).toBe(false);
      await newPatient(harness, partner);
    });
    expect((await waiting)?.status).toBe(201);
  },
);
