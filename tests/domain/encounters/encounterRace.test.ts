import { Prisma } from '../../../generated/prisma/client.js';
import { identifier } from '../../../src/domain/transactions/bulkSql.js';
import {
  encounterBody,
  newDocument,
  newPartner,
  newPatient,
  newProduct,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { reviewed } from '../../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const create = ({ token }: Partner, json: object): Promise<Answer> =>
  call(harness, 'POST /encounters', { token, json });
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

it('the numbers of encounters and orders start at 101000', async () => {
  const first = await create(partner, await encounterBody(harness, partner));
  expect(first.body).toMatchObject({ encounter_id: 101_000, gfe_no: 'GFE-101000' });
  expect(await reviewed(harness, partner, first.body)).toMatchObject({ order_no: 'ORD-101000' });
});

describe('createEncounter while the catalog changes', () => {
  it('freezes prices that were all valid at one moment', async () => {
    const offer = { price: '1.00', shippingType: 'FREE_SHIPPING' } as const;
    const treatmentIds = await times(2, () => newProduct(harness, partner, offer));
    const json = { ...(await encounterBody(harness, partner)), treatmentIds };
    let isDone = false;
    const changePrices = async (): Promise<number> => {
      const where = { tenantId: partner.tenantId, productId: { in: treatmentIds } };
      let changes = 0;
      for (; !isDone; changes += 1) {
        const data = { price: changes % 2 === 0 ? '20.00' : '1.00' };
        await harness.domain.db.prisma.productOffer.updateMany({ where, data });
      }
      return changes;
    };
    const creating = times(40, () => create(partner, json)).finally(() => (isDone = true));
    const [answers, changes] = await Promise.all([creating, changePrices()]);
    expect(changes).toBeGreaterThan(1);
    for (const { status, body } of answers) {
      expect(status).toBe(201);
      expect(['2.00', '40.00']).toContain(body.estimate.sub_total);
    }
  });
});

// createEncounter writes its rows together with its events, while it holds the tenant's event counter. Foreign keys lock
// the referenced rows: unless they are locked earlier, one locked row would block every change of the tenant.
describe('the rows that a new encounter references', () => {
  let body: EncounterBody & { readonly documentIds: readonly string[] };
  beforeAll(async () => {
    const valid = await encounterBody(harness, partner);
    body = { ...valid, documentIds: [await newDocument(harness, partner, valid.patientId)] };
  });

  /** The tables that the foreign keys of a new encounter reference, with the id of the referenced row. */
  const referencedRows: Readonly<Record<string, (sent: typeof body) => string | undefined>> = {
    client: ({ patientId }) => patientId,
    clinic: ({ clinicId }) => clinicId,
    document: ({ documentIds }) => documentIds[0],
    product: ({ treatmentIds }) => treatmentIds[0],
  };

  it('are all in tables that these tests cover', async () => {
    const names = await harness.domain.db.prisma.$queryRaw<{ name: string }[]>`
      SELECT DISTINCT relname::text AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = confrelid
      WHERE contype = 'f' AND conrelid = ANY (
        '{encounter,encounter_treatment,encounter_document,gfe_item}'::regclass[]) ORDER BY name`;
    // A new encounter has no claim, review or order yet, and its parts refer to its own new row.
    const notYet = ['api_client', 'encounter', 'order'];
    expect(names.map(({ name }) => name).filter((name) => !notYet.includes(name))).toEqual(Object.keys(referencedRows));
  });

  it.each(Object.entries(referencedRows))(
    'do not block other changes of the tenant while createEncounter waits for a row of the table %s',
    async (table, idOf) => {
      const { status } = await whileBlocked(
        harness,
        Prisma.sql`SELECT FROM ${identifier(table)} WHERE tenant_id = ${partner.tenantId} AND id = ${idOf(body)}::uuid
          FOR UPDATE`,
        () => create(partner, body),
        () => newPatient(harness, partner),
      );
      expect(status).toBe(201);
    },
  );
});
