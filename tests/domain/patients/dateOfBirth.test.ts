import { newPartner, newToken, patientBody, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

const create = (dateOfBirth: unknown, { token } = partner) =>
  call(harness, 'POST /clients', { token, json: patientBody({ dateOfBirth }) });

/** Creates a patient at this time of the service's clock, and resets the clock. */
async function createAt(moment: string, dateOfBirth: string) {
  const before = harness.clock.now;
  harness.clock.now = new Date(moment);
  try {
    return await create(dateOfBirth, { ...partner, token: await newToken(harness, partner) });
  } finally {
    harness.clock.now = before;
  }
}

describe('the date of birth in createPatient', () => {
  it.each(['1900-01-01', '1990-06-30', '2000-02-29', '2024-02-29', '1969-12-31', '1970-01-01'])(
    'stores %s and shows it as midnight UTC',
    async (date) => {
      const { status, body } = await create(date);
      expect(status).toBe(201);
      const read = await call(harness, `GET /clients/${body.user_id}`, { token: partner.token });
      expect([body.dateOfBirth, read.body.dateOfBirth]).toEqual([`${date}T00:00:00.000Z`, `${date}T00:00:00.000Z`]);
      const stored = await harness.domain.db.prisma.$queryRaw<{ day: string }[]>`
        SELECT date_of_birth::text AS day FROM client WHERE id = ${body.user_id}::uuid`;
      expect(stored).toEqual([{ day: date }]);
    },
  );

  // The earliest time zone, UTC+14, begins its day ten hours after the UTC day before began.
  it.each([
    ['2026-11-20T09:59:59.999Z', '2026-11-20', 201],
    ['2026-11-20T09:59:59.999Z', '2026-11-21', 400],
    ['2026-11-20T10:00:00.000Z', '2026-11-21', 201],
    ['2026-11-20T10:00:00.000Z', '2026-11-22', 400],
    ['2026-11-20T23:59:59.999Z', '2026-11-21', 201],
    ['2026-12-31T10:00:00.000Z', '2027-01-01', 201],
    ['2026-12-31T09:59:59.999Z', '2027-01-01', 400],
  ])('must not be later than today in the earliest time zone: at %s, %s gives %i', async (moment, date, status) => {
    expect((await createAt(moment, date)).status).toBe(status);
  });

  it.each(['1899-12-31', '1000-01-01', '0000-01-01', '2026-11-22', '2027-11-20', '9999-12-31'])(
    'rejects %s as out of range',
    async (date) => {
      const answer = await create(date);
      expectProblem(answer, 400, 'validation_failed', [{ pointer: '#/dateOfBirth', code: 'range' }]);
      expect(answer.text).not.toContain(date);
    },
  );

  it.each([
    '1900-02-29',
    '2023-02-29',
    '2026-02-30',
    '1990-06-31',
    '1990-13-01',
    '1990-00-10',
    '1990-06-00',
    '1990-6-30',
    '90-06-30',
    '19900630',
    '30/06/1990',
    '06-30-1990',
    '1990-06-30T00:00:00Z',
    '1990-06-30 ',
    ' 1990-06-30',
    '+1990-06-30',
    '１９９０-06-30',
    'yesterday',
    '',
  ])('rejects %j, which is no calendar date', async (date) => {
    expectProblem(await create(date), 400, 'validation_failed', [{ pointer: '#/dateOfBirth', code: 'format' }]);
  });

  it.each([19900630, true, ['1990-06-30']])('rejects %j, which is no string', async (date) => {
    expectProblem(await create(date), 400, 'validation_failed', [{ pointer: '#/dateOfBirth', code: 'type' }]);
  });
});
