import { encounterBody, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { reviewed } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
let firstEncounter: Answer;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  firstEncounter = await create(partner, await encounterBody(harness, partner));
});
afterAll(() => harness.close());

const create = ({ token }: Partner, json: object): Promise<Answer> =>
  call(harness, 'POST /encounters', { token, json });
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

describe('the number of an encounter', () => {
  it('starts at 101000 like that of an order, after the numbers of the sandbox fixtures', async () => {
    expect(firstEncounter.body).toMatchObject({ encounter_id: 101_000, gfe_no: 'GFE-101000' });
    expect(await reviewed(harness, partner, firstEncounter.body)).toMatchObject({ order_no: 'ORD-101000' });
  });

  it('is unique when two tenants create 50 encounters at once, and only the owner finds it', async () => {
    const partners = [partner, await newPartner(harness)];
    const bodies = await Promise.all(partners.map((each) => encounterBody(harness, each)));
    const made = await times(50, async (index) => {
      const [owner, json] = [partners[index % 2] ?? partner, bodies[index % 2] ?? {}];
      return { owner, answer: await create(owner, json) };
    });
    expect(made.map(({ answer }) => answer.status)).toEqual(Array(50).fill(201));
    const numbers = made.map(({ answer }) => answer.body.encounter_id);
    expect(new Set(numbers).size).toBe(50);
    expect(new Set(made.map(({ answer }) => answer.body.gfe_no)).size).toBe(50);
    expect(new Set(made.map(({ answer }) => answer.body.id)).size).toBe(50);
    for (const {
      answer: { body },
    } of made)
      expect(body.gfe_no).toBe(`GFE-${body.encounter_id}`);

    const seen = await Promise.all(
      made.flatMap(({ owner, answer: { body } }) =>
        partners.map(async ({ token }) => {
          const { status } = await call(harness, 'POST /encounters/status', { token, json: { gfe_no: body.gfe_no } });
          return [status, token === owner.token];
        }),
      ),
    );
    expect(seen.every(([status, isOwner]) => status === (isOwner ? 200 : 404))).toBe(true);
  });

  it('is not reused after its encounter is deleted', async () => {
    const json = await encounterBody(harness, partner);
    const {
      body: { id, encounter_id },
    } = await create(partner, json);
    const { tenantId } = partner;
    const row = { where: { tenantId, encounterId: id } };
    const { db } = harness.domain;
    await db.prisma.$transaction([
      db.prisma.gfeItem.deleteMany(row),
      db.prisma.encounterTreatment.deleteMany(row),
      db.prisma.encounter.deleteMany({ where: { tenantId, id } }),
    ]);
    expect((await create(partner, json)).body.encounter_id).toBeGreaterThan(encounter_id);
  });
});

describe('createEncounter while the catalog changes', () => {
  it('freezes the prices of one moment', async () => {
    const { db } = harness.domain;
    const { tenantId } = partner;
    const treatmentIds = await times(2, () =>
      newProduct(harness, partner, { price: '1.00', shippingType: 'FREE_SHIPPING' }),
    );
    const json = { ...(await encounterBody(harness, partner)), treatmentIds };
    const work = { isDone: false, changes: 0 };
    const changePrices = async (): Promise<void> => {
      while (!work.isDone) {
        const price = work.changes % 2 === 0 ? '20.00' : '1.00';
        await db.prisma.productOffer.updateMany({
          where: { tenantId, productId: { in: treatmentIds } },
          data: { price },
        });
        work.changes += 1;
      }
    };
    const creating = times(40, () => create(partner, json)).finally(() => {
      work.isDone = true;
    });
    const [made] = await Promise.all([creating, changePrices()]);
    expect(work.changes).toBeGreaterThan(1);
    for (const { status, body } of made) {
      expect(status).toBe(201);
      expect([2, 40]).toContain(body.estimate.sub_total);
    }
  });

  it('creates a whole encounter or answers 409 while its clinic is deactivated', async () => {
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
