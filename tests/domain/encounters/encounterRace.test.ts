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
const firstEncounter = await create(partner, await encounterBody(harness, partner));
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

describe('the number of an encounter', () => {
  it('starts at 101000, as an order number does, above the numbers of the sandbox fixtures', async () => {
    expect(firstEncounter.body).toMatchObject({ encounter_id: 101_000, gfe_no: 'GFE-101000' });
    expect(await reviewed(harness, partner, firstEncounter.body)).toMatchObject({ order_no: 'ORD-101000' });
  });

  it('is unique when two tenants create 50 encounters at once, and only the owner finds it', async () => {
    const partners = [partner, await newPartner(harness)];
    const bodies = await Promise.all(partners.map((owner) => encounterBody(harness, owner)));
    const created = await times(50, async (index) => {
      const owner = partners[index % 2] ?? partner;
      const { status, body } = await create(owner, bodies[index % 2] ?? {});
      return { owner, answered: status, ...body };
    });
    for (const { answered, gfe_no, encounter_id } of created) {
      expect([answered, gfe_no]).toEqual([201, `GFE-${encounter_id}`]);
    }
    for (const key of ['encounter_id', 'id']) expect(new Set(created.map((record) => record[key])).size).toBe(50);
    for (const { token } of partners) {
      const answers = await Promise.all(
        created.map(({ gfe_no }) => call(harness, 'POST /encounters/status', { token, json: { gfe_no } })),
      );
      const expected = created.map(({ owner }) => (token === owner.token ? 200 : 404));
      expect(answers.map(({ status }) => status)).toEqual(expected);
    }
  });

  it('is not reused after its encounter is deleted', async () => {
    const json = await encounterBody(harness, partner);
    const { id, encounter_id } = (await create(partner, json)).body;
    const { db } = harness.domain;
    const row = { where: { tenantId: partner.tenantId, encounterId: id } };
    await db.prisma.$transaction([
      db.prisma.gfeItem.deleteMany(row),
      db.prisma.encounterTreatment.deleteMany(row),
      db.prisma.encounter.deleteMany({ where: { tenantId: partner.tenantId, id } }),
    ]);
    expect((await create(partner, json)).body.encounter_id).toBeGreaterThan(encounter_id);
  });
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

  it('creates a complete encounter or answers 409 while its clinic is being deactivated', async () => {
    const { db } = harness.domain;
    const { tenantId } = partner;
    const json = await encounterBody(harness, partner);
    const close = () =>
      db.prisma.clinic.updateMany({ where: { tenantId, id: json.clinicId }, data: { isActive: false } });
    const [, ...answers] = await Promise.all([close(), ...Array.from({ length: 30 }, () => create(partner, json))]);
    for (const { status, body } of answers)
      expect([201, 'clinic_inactive']).toContain(status === 201 ? status : body.code);
    const stored = await db.prisma.encounter.findMany({
      where: { tenantId, clinicId: json.clinicId },
      include: { treatments: true, gfeItems: true },
    });
    expect(stored).toHaveLength(answers.filter(({ status }) => status === 201).length);
    for (const { treatments, gfeItems } of stored) expect([treatments.length, gfeItems.length]).toEqual([1, 1]);
    expect((await create(partner, json)).body.code).toBe('clinic_inactive');
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
    // A new encounter has no claim, review or order yet.
    const notYet = ['api_client', 'encounter', 'order'];
    expect(names.map(({ name }) => name).filter((name) => !notYet.includes(name))).toEqual(Object.keys(referencedRows));
  });

  it.each(Object.entries(referencedRows))(
    'do not block other changes of the tenant while createEncounter waits for its %s',
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
