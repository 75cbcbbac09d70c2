import { Prisma } from '../../../generated/prisma/client.js';
import { expireDueEncounters, lapseDueClaims } from '../../../src/domain/sweeps/encounterDeadlines.js';
import { copyEncounter } from '../../support/copies.js';
import { encounterBody, newEncounter, newPartner } from '../../support/factories.js';
import { call, type Answer } from '../../support/http.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { cancelled, claimedEncounter, eventTypesOf, recordOf } from '../../support/reviews.js';
import { scansOf, statementsOf } from '../../support/statements.js';

type Encounter = Answer['body'];

const { harness, observer } = await openObservedHarness();
const partner = await newPartner(harness);
const body = await encounterBody(harness, partner);

const day = 24 * 3_600;
/** The context of a sweep that runs this many seconds later. */
const inSeconds = (seconds: number) => ({
  ...harness.domain,
  now: () => new Date(harness.clock.now.getTime() + seconds * 1000),
});
const stored = async ({ encounter_id }: Encounter, { token } = partner): Promise<Encounter> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token })).body);

it('the clock of a sandbox decides which of its claims and encounters are due', async () => {
  const sandbox = await newPartner(harness, 'sandbox');
  const [ahead, here] = [await claimedEncounter(harness, sandbox), await claimedEncounter(harness, partner, body)];
  const waiting = await newEncounter(harness, sandbox);
  const clockOffsetMs = 31 * day * 1000;
  await harness.domain.db.prisma.tenant.updateMany({ where: { id: sandbox.tenantId }, data: { clockOffsetMs } });
  // The encounter of the lapsed claim has also waited too long, so the first sweep expires it, too.
  expect([await lapseDueClaims(harness.domain), await expireDueEncounters(harness.domain)]).toEqual([1, 1]);
  for (const encounter of [ahead, waiting]) expect((await stored(encounter, sandbox)).status).toBe('expired');
  const [{ timestamp } = {}] = await harness.domain.db.prisma.$queryRaw<{ timestamp?: Date }[]>`
    SELECT timestamp FROM event WHERE tenant_id = ${sandbox.tenantId} ORDER BY timestamp DESC LIMIT 1`;
  expect(timestamp).toEqual(inSeconds(31 * day).now());
  expect(await stored(here)).toEqual(here);
  expect(await lapseDueClaims(inSeconds(3_600), sandbox.tenantId)).toBe(0);
  expect(await lapseDueClaims(inSeconds(3_600), partner.tenantId)).toBe(1);
});

it('encounters that the sweep fails to update do not block others, are logged without values, and are retried by the next run', async () => {
  const [owner, other] = [await newPartner(harness), await newPartner(harness)];
  // More than one batch, due before the sound encounters.
  await copyEncounter(observer, (await newEncounter(harness, owner)).id, 60);
  await observer.query(`UPDATE encounter SET reference = 'Jane Miller' WHERE tenant_id = '${owner.tenantId}'`);
  // The error of this constraint has the row as its detail.
  await observer.query(`ALTER TABLE encounter ADD CONSTRAINT refuse
    CHECK (status <> 'expired' OR reference IS DISTINCT FROM 'Jane Miller') NOT VALID`);
  harness.clock.advance(60);
  const sound = [await newEncounter(harness, owner), await newEncounter(harness, other)];
  const sweepAfter = (seconds: number) => expireDueEncounters(inSeconds(40 * day + seconds));
  const failures = (): unknown[] =>
    harness.logged.filter(({ msg }) => msg === 'a job could not process a row; its next run retries');

  await sweepAfter(0);
  expect((await stored(sound[0], owner)).status).toBe('expired');
  expect((await stored(sound[1], other)).status).toBe('expired');
  const lines = failures();
  expect(lines).toHaveLength(61);
  expect(lines[0]).toMatchObject({ tenantId: owner.tenantId, id: expect.any(String), sqlstate: '23514' });
  expect(JSON.stringify(lines)).not.toContain('Jane');

  expect([await sweepAfter(60), failures().length]).toEqual([0, 122]);
  await observer.query('ALTER TABLE encounter DROP CONSTRAINT refuse');
  expect([await sweepAfter(120), failures().length]).toEqual([61, 122]);
});

it.each([
  ['claimed', claimedEncounter],
  ['waiting', newEncounter],
])('sweeps skip a %s encounter that another transaction has locked', async (_status, make) => {
  const encounter = await make(harness, partner);
  const types = await eventTypesOf(harness, encounter);
  await whileBlocked(
    harness,
    Prisma.sql`SELECT FROM encounter WHERE tenant_id = ${partner.tenantId} AND id = ${encounter.id}::uuid FOR UPDATE`,
    () => cancelled(harness, partner, encounter),
    async () => {
      await lapseDueClaims(inSeconds(31 * day), partner.tenantId);
      await expireDueEncounters(inSeconds(31 * day), partner.tenantId);
    },
  );
  expect(await eventTypesOf(harness, encounter)).toEqual([...types, 'encounter.cancelled']);
});

describe('many encounters', () => {
  it('that are due in one tenant delay those of another tenant by at most one batch', async () => {
    const [many, few] = [await newPartner(harness), await newPartner(harness)];
    await copyEncounter(observer, (await newEncounter(harness, many)).id, 120);
    await newEncounter(harness, few);
    const statements = await statementsOf(() => expireDueEncounters(inSeconds(40 * day)));
    const turns = statements
      .filter(({ text }) => text.includes('SKIP LOCKED'))
      .map(({ values }) => [many, few].find(({ tenantId }) => values.includes(tenantId)));
    expect(turns.filter(Boolean).length).toBe(4);
    expect(turns.indexOf(few)).toBeLessThan(turns.indexOf(many, turns.indexOf(many) + 1));
  });

  it('of which none is due are searched by the indexes of leases and expiry', async () => {
    const owner = await newPartner(harness);
    await copyEncounter(observer, (await newEncounter(harness, owner)).id, 3_000);
    await copyEncounter(observer, (await claimedEncounter(harness, owner)).id, 3_000);
    await observer.query('ANALYZE');
    const statements = await statementsOf(async () => {
      expect([await lapseDueClaims(harness.domain), await expireDueEncounters(harness.domain)]).toEqual([0, 0]);
    });
    const indexes = [];
    for (const statement of statements.filter(({ text }) => /FROM "?encounter"?\s/.test(text))) {
      const scans = await scansOf(observer, statement);
      indexes.push(...scans.filter(({ table }) => table === 'encounter').map(({ index }) => index));
    }
    expect(indexes).toEqual(expect.arrayContaining(['encounter_lease_idx', 'encounter_expiry_idx']));
  });
});
