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

// createEncounter writes its rows together with its events, while it holds the tenant's event counter. Foreign keys lock
// the referenced rows: unless they are locked earlier, one locked row would block every change of the tenant.

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

/** The tables that the foreign keys of a new encounter reference, with the id of the referenced row. */
const referencedRows: Readonly<Record<string, (sent: typeof body) => string | undefined>> = {
  client: ({ patientId }) => patientId,
  clinic: ({ clinicId }) => clinicId,
  document: ({ documentIds }) => documentIds[0],
  product: ({ treatmentIds }) => treatmentIds[0],
};

it('these tests cover every table that the rows of a new encounter reference', async () => {
  const names = await harness.domain.db.prisma.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT relname::text AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = confrelid
    WHERE contype = 'f' AND conrelid = ANY (
      '{encounter,encounter_treatment,encounter_document,gfe_item}'::regclass[]) ORDER BY name`;
  // A new encounter has no claim, review or order yet. One that reuses an approval is written before its events.
  const notYet = ['api_client', 'encounter', 'order'];
  expect(names.map(({ name }) => name).filter((name) => !notYet.includes(name))).toEqual(Object.keys(referencedRows));
});

it.each(Object.entries(referencedRows))(
  'createEncounter does not block other changes of the tenant while it waits for its %s',
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
