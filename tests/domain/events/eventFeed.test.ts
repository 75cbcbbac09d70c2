import { recordEvent } from '../../../src/domain/events/record.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { feedPage, paid, recordPaid, type ToldEvent } from '../../support/events.js';
import { newPartner, type Partner } from '../../support/factories.js';
import { untilBlocked } from '../../support/lockWaits.js';
import { openObservedHarness } from '../../support/observedHarness.js';

const { harness, observer } = await openObservedHarness();

const orderNos = (events: readonly ToldEvent[]) => events.map(({ data }) => data['order_no']);
const placeOf = ({ tenantId }: Partner) => ({ tenantId, clinicId: null });

describe('listEvents', () => {
  it('lists no event before an earlier one whose commit is late', async () => {
    const partner = await newPartner(harness);
    await recordPaid(harness, placeOf(partner), 'ORD-100000');
    const { next_cursor: cursor } = await feedPage(harness, partner);
    await observer.query(`
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
      CREATE TRIGGER hold AFTER INSERT ON event FOR EACH ROW WHEN (NEW.data->>'order_no' = 'ORD-100001')
        EXECUTE FUNCTION hold();
      SELECT pg_advisory_lock(1)`);
    const late = recordPaid(harness, placeOf(partner), 'ORD-100001');
    await untilBlocked(harness);
    let isDone = false;
    const next = recordPaid(harness, placeOf(partner), 'ORD-100002').then(() => (isDone = true));
    await untilBlocked(harness, 2, () => isDone);
    const page = await feedPage(harness, partner, { cursor });
    await observer.query('SELECT pg_advisory_unlock(1)');
    await Promise.all([late, next]);
    const rest = await feedPage(harness, partner, { cursor: page.next_cursor });
    expect([orderNos(page.data), orderNos(rest.data)]).toEqual([[], ['ORD-100001', 'ORD-100002']]);
    await observer.query('DROP TRIGGER hold ON event');
  });

  it('orders events by commit, so that a reader neither waits for an open transaction nor misses its events', async () => {
    const partner = await newPartner(harness);
    let page = await feedPage(harness, partner);
    await inTransaction(harness.domain, async (transaction) => {
      recordEvent(transaction, placeOf(partner), 'order.paid', paid('ORD-100001'));
      await transaction.db.of(partner.tenantId).run`
        INSERT INTO webhook_inbox (tenant_id, status, delay_ms) VALUES (${partner.tenantId}, 200, 0)`;
      await recordPaid(harness, placeOf(partner), 'ORD-100002');
      page = await feedPage(harness, partner, { cursor: page.next_cursor });
    });
    expect(orderNos(page.data)).toEqual(['ORD-100002']);
    expect(orderNos((await feedPage(harness, partner, { cursor: page.next_cursor })).data)).toEqual(['ORD-100001']);
  });

  it('lists an event that was recorded while the event counter of another tenant was locked', async () => {
    const [partner, other] = [await newPartner(harness), await newPartner(harness)];
    await recordPaid(harness, placeOf(partner));
    await observer.query('BEGIN');
    await observer.query('SELECT FROM event_counter WHERE tenant_id = $1 FOR UPDATE', [partner.tenantId]);
    await recordPaid(harness, placeOf(other));
    await observer.query('ROLLBACK');
    expect((await feedPage(harness, other)).data).toHaveLength(1);
  });
});
