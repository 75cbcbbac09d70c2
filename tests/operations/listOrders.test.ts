import { newClient, newClinic, newPartner, newProduct, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { getOrder, pay } from '../support/orders.js';
import { completedEncounter } from '../support/reviews.js';
import { ownStatementsOf } from '../support/statements.js';

type Body = Answer['body'];

const harness = await openHarness();
const partner = await newPartner(harness);
const clinics = [await newClinic(harness, partner), await newClinic(harness, partner)];
const products = [await newProduct(harness, partner), await newProduct(harness, partner)];
/** Orders, the oldest first, alternating between two clinics; only the last two share a time. */
const made: Body[] = [];
for (let number = 0; number < 6; number += 1) {
  const treatmentIds = [products[number % 3 === 0 ? 0 : 1]];
  const { order_no } = await completedEncounter(harness, partner, { clinicId: clinics[number % 2], treatmentIds });
  if (number === 1) await pay(harness, partner, order_no, { amount: '255.00' });
  made.push((await getOrder(harness, partner, order_no)).body);
  if (number < 4) harness.clock.advance(60);
}
const list = (query = '', { token }: Pick<Partner, 'token'> = partner): Promise<Answer> =>
  call(harness, `GET /orders${query}`, { token });
const numbersOf = ({ body }: Answer): string[] => body.data.map(({ order_no }: Body) => order_no);
/** The order numbers, the newest first. */
const newest = (orders: Body[]): string[] =>
  orders
    .toSorted((one, other) => (`${one.createdAt}${one.id}` < `${other.createdAt}${other.id}` ? 1 : -1))
    .map(({ order_no }) => order_no);

describe('listOrders 200', () => {
  it('lists orders as getOrder returns them, the newest first', async () => {
    const { status, body } = await list();
    expect([status, body]).toEqual([200, { data: expect.any(Array), next_cursor: null, has_more: false }]);
    expect(body.data).toEqual(newest(made).map((number) => made.find(({ order_no }) => order_no === number)));
  });

  it('filters by status, clinic, pharmacy, patient, encounter and creation time, in one list or page by page', async () => {
    const [clinicId] = clinics;
    const { pharmacyId } = made[0]?.lines[0] ?? {};
    const ofPharmacy = made.filter(({ lines }) => lines[0].pharmacyId === pharmacyId);
    const cases: [string, Body[]][] = [
      ['status=PAID', made.filter(({ order_status }) => order_status === 'paid')],
      ['status=refunded', []],
      [`clinicId=${clinicId}`, made.filter((_, index) => index % 2 === 0)],
      [`pharmacyId=${pharmacyId}`, ofPharmacy],
      [`pharmacyId=${pharmacyId}&clinicId=${clinicId}&status=pending`, ofPharmacy.slice(0, 1)],
      [`created_after=${made[1]?.createdAt}`, made.slice(2)],
      ['created_after=0000-01-01T00:00:00Z', made],
      [`created_before=${made[1]?.createdAt}`, made.slice(0, 1)],
      [`created_after=${made[0]?.createdAt}&created_before=${made[3]?.createdAt}`, made.slice(1, 3)],
      [`patientId=${made[2]?.patientId}`, made.slice(2, 3)],
      [`encounter_id=${made[3]?.encounter_id}`, made.slice(3, 4)],
      [`encounter_id=${made[3]?.encounter_id}&patientId=${made[2]?.patientId}`, []],
      ['pharmacyId=01a10caf-a4c0-7000-8000-00000000dead', []],
    ];
    for (const [query, expected] of cases) {
      expect([query, numbersOf(await list(`?${query}`))]).toEqual([query, newest(expected)]);
      const { body } = await list(`?${query}&limit=1`);
      if (body.next_cursor === null) continue;
      const rest = numbersOf(await list(`?${query}&cursor=${body.next_cursor}`));
      expect([query, rest]).toEqual([query, newest(expected).slice(1)]);
    }
  });

  it('shows a client limited to clinics only their orders, and no order to another tenant', async () => {
    const limited = await newClient(harness, partner.tenantId, ['read:order'], clinics.slice(0, 1));
    expect(numbersOf(await list('', limited))).toEqual(newest(made.filter((_, index) => index % 2 === 0)));
    expect(numbersOf(await list(`?clinicId=${clinics[1]}`, limited))).toEqual([]);
    expect(numbersOf(await list('', await newPartner(harness)))).toEqual([]);
  });

  it('filters by the last change and by the fulfilment of a line, also with other filters, and lists each order once', async () => {
    const owner = await newPartner(harness);
    const treatmentIds = [await newProduct(harness, owner), await newProduct(harness, owner)];
    const orders: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      orders.unshift((await completedEncounter(harness, owner, { treatmentIds })).order_no);
      harness.clock.advance(60);
    }
    const [, accepted = ''] = orders;
    const { createdAt: createdLast } = (await getOrder(harness, owner, orders[0] ?? '')).body;
    const { pharmacyId } = (await getOrder(harness, owner, accepted)).body.lines[0];
    const json = { pharmacyId, status: 'accepted' };
    await call(harness, `POST /orders/${accepted}/fulfilments`, { token: owner.token, json });
    const find = async (query: string): Promise<string[]> => numbersOf(await list(`?${query}`, owner));
    expect(await find('fulfilment=pending')).toEqual(orders);
    expect(await find('fulfilment=Accepted')).toEqual([accepted]);
    expect(await find(`fulfilment=accepted&pharmacyId=${pharmacyId}&status=pending&held=false`)).toEqual([accepted]);
    expect(await find(`fulfilment=pending&pharmacyId=${pharmacyId}`)).toEqual(orders.filter((one) => one !== accepted));
    expect(await find(`updated_after=${createdLast}`)).toEqual([accepted]);
    expect(await find('fulfilment=accepted&held=true')).toEqual([]);
    expect(await find('fulfilment=shipped')).toEqual([]);
    const { body } = await list('?fulfilment=pending&limit=1', owner);
    expect(await find(`fulfilment=pending&cursor=${body.next_cursor}`)).toEqual(orders.slice(1));
  });

  it('sends as many SQL statements for six orders as for one', async () => {
    await list();
    const cost = async (query: string) => (await ownStatementsOf(() => list(query))).length;
    expect(await cost('?limit=6')).toBe(await cost('?limit=1'));
  });
});
