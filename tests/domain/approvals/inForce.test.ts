import { GfeItemStatus } from '../../../generated/prisma/client.js';
import { inForce, isInForce } from '../../../src/domain/approvals/inForce.js';
import { openHarness } from '../../support/harness.js';

const { domain } = await openHarness();
const { prisma } = domain.db;

const at = new Date('2027-11-20T16:00:00.000Z');
const ends = [null, ...[-1, 0, 1].map((ms) => new Date(at.getTime() + ms))];
const [botox, filler] = [domain.newId(), domain.newId()];
const sets = [[], [botox], [filler], [botox, filler]];

const items = Object.values(GfeItemStatus).flatMap((status) =>
  ends.flatMap((validUntil) => sets.map((declinedTreatmentIds) => ({ status, validUntil, declinedTreatmentIds }))),
);

it.each(sets.map((ids) => [ids.length, ids] as const))(
  'the query inForce finds exactly the approvals that isInForce accepts, for %i treatments (%s)',
  async (_count, ids) => {
    const found = await Promise.all(
      items.map(async ({ status, validUntil, declinedTreatmentIds }) => {
        const [row] = await prisma.$queryRaw<{ found: boolean }[]>`
          SELECT ${inForce(at, ...ids)} AS found
          FROM (SELECT ${status}::gfe_item_status AS status, ${validUntil}::timestamptz AS valid_until,
            ${declinedTreatmentIds}::uuid[] AS declined_treatment_ids) AS item`;
        return row?.found;
      }),
    );
    expect(found).toEqual(items.map((item) => isInForce(item, at, ...ids)));
    expect(new Set(found)).toEqual(new Set([true, false]));
  },
);
