import { newClinic, newPartner, newProduct } from '../support/factories.js';
import { call } from '../support/http.js';
import { eventsAbout, getOrder, pay } from '../support/orders.js';
import { completedEncounter, reviewer } from '../support/reviews.js';
import { fulfil } from '../support/shipments.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json } = await openOperator();
const partner = await newPartner(harness);

const orderOf = async (orderNo: string) => (await getOrder(harness, partner, orderNo)).body;
const newOrder = async (owner = partner): Promise<string> => (await completedEncounter(harness, owner)).order_no;
const cancel = (orderNo: string, tenant = partner.tenantId) => run('order', 'cancel', orderNo, '--tenant', tenant);

describe('tenant configure', () => {
  it('changes the given settings of a tenant, given by its name or id, and prints them', async () => {
    const { tenantId } = await newPartner(harness);
    const tenant = await harness.domain.db.prisma.tenant.findUniqueOrThrow({ where: { id: tenantId } });
    const { name } = tenant;
    const createdAt = tenant.createdAt.toISOString();
    const configured = {
      ...{ id: tenantId, name, mode: 'live', isActive: true, createdAt },
      ...{ requireLicensedProvider: false, minimumAge: 18, recordRetentionYears: 7 },
    };
    const configure = (...args: string[]) => json('tenant', 'configure', name, ...args);
    expect(await configure('--minimum-age', '21')).toEqual({ ...configured, minimumAge: 21, currency: 'USD' });
    expect(await configure('--currency', 'cad')).toEqual({ ...configured, minimumAge: 21, currency: 'CAD' });
    const last = { ...configured, minimumAge: 16, currency: 'EUR' };
    expect(await configure('--minimum-age', '16', '--currency', 'EUR')).toEqual(last);
    expect(await json('tenant', 'list')).toContainEqual(last);
    const text = await run('tenant', 'configure', tenantId, '--minimum-age', '18');
    const rows = [
      ...[`id                       ${tenantId}`, `name                     ${name}`, 'mode                     live'],
      ...['isActive                 yes', 'requireLicensedProvider  no', 'minimumAge               18'],
      ...['recordRetentionYears     7', 'currency                 EUR', `createdAt                ${createdAt}\n`],
    ];
    expect(text).toEqual({ code: 0, stdout: rows.join('\n'), stderr: '' });
  });

  it('applies a new currency to new orders only', async () => {
    const owner = await newPartner(harness);
    const before = await newOrder(owner);
    await json('tenant', 'configure', owner.tenantId, '--currency', 'CAD');
    const after = await newOrder(owner);
    const orders = await Promise.all([before, after].map((orderNo) => getOrder(harness, owner, orderNo)));
    expect(orders.map((order) => order.body.currency)).toEqual(['USD', 'CAD']);
    const [{ encounter_id, lines }] = orders.map((order) => order.body);
    const again = { treatmentIds: lines.map((line: { treatmentId: string }) => line.treatmentId) };
    const { body } = await call(harness, `POST /encounters/${encounter_id}/reorder`, {
      token: owner.token,
      json: again,
      headers: { 'Idempotency-Key': 'again' },
    });
    expect(body.currency).toBe('CAD');
  });
});

describe('order hold', () => {
  const hold = (...args: string[]) => ['order', 'hold', '--tenant', partner.tenantId, '--reason', 'recall/1', ...args];
  /** An order that waits, and one that has shipped, both of the same product, provider and clinic. */
  async function twoOrders() {
    const clinicId = await newClinic(harness, partner);
    const treatmentIds = [await newProduct(harness, partner)];
    const waiting = await completedEncounter(harness, partner, { clinicId, treatmentIds });
    const sent = await completedEncounter(harness, partner, { clinicId, treatmentIds });
    await fulfil(harness, partner, sent.order_no, 'accepted', 'shipped');
    const { sku } = (await orderOf(waiting.order_no)).lines[0];
    return { clinicId, sku, treatmentIds, waiting: waiting.order_no, sent: sent.order_no };
  }
  const linesOf = async (orderNo: string) => (await orderOf(orderNo)).lines;

  it.each(['--product', '--clinic'])('holds the unshipped lines and recalls the shipped ones of %s', async (option) => {
    const { clinicId, sku, treatmentIds, waiting, sent } = await twoOrders();
    const other = await newOrder();
    const untouched = await orderOf(other);
    const named = [option, option === '--product' ? sku : clinicId];
    expect(await json(...hold(...named, '--yes'))).toEqual({ orders: [waiting, sent] });
    expect(await linesOf(waiting)).toMatchObject([{ hold: { reason: 'stopped' }, recalledAt: null }]);
    expect(await linesOf(sent)).toMatchObject([{ hold: null, recalledAt: expect.any(String) }]);
    expect(await orderOf(other)).toEqual(untouched);
    for (const [order_no, type] of [
      [waiting, 'order.held'],
      [sent, 'order.recalled'],
    ] as const) {
      const events = await eventsAbout(harness, partner, { order_no }, 'order.held', 'order.recalled');
      expect(events).toMatchObject([{ type, data: { order_no, reason: 'stopped', treatmentIds } }]);
    }
    expect(await json(...hold(...named, '--yes'))).toEqual({ orders: [] });
  });

  it('holds the lines that the provider of --provider approved', async () => {
    const owner = await newPartner(harness);
    const orderNo = await newOrder(owner);
    const args = ['order', 'hold', '--tenant', owner.tenantId, '--reason', 'recall/1', '--yes', '--provider'];
    expect(await json(...args, 'NPI-unknown')).toEqual({ orders: [] });
    expect(await json(...args, reviewer)).toEqual({ orders: [orderNo] });
    expect((await getOrder(harness, owner, orderNo)).body.lines).toMatchObject([{ hold: { reason: 'stopped' } }]);
  });

  it('changes nothing with --dry-run, and needs --yes without a terminal', async () => {
    const { sku, waiting, sent } = await twoOrders();
    const before = await Promise.all([waiting, sent].map(orderOf));
    const stdout = `Dry run, nothing was changed: Orders with lines to stop: 2. ${waiting}, ${sent}\n`;
    expect(await run(...hold('--product', sku, '--dry-run'))).toEqual({ code: 0, stdout, stderr: '' });
    const audited = { tenantId: partner.tenantId, operationId: 'order hold --dry-run', outcome: 'success' } as const;
    expect(await harness.domain.db.prisma.auditEvent.count({ where: audited })).toBe(1);
    expect(await run(...hold('--product', sku))).toEqual(refusal(1, /confirm with --yes/));
    expect(await Promise.all([waiting, sent].map(orderOf))).toEqual(before);
  });

  it('requires exactly one of --product, --provider and --clinic', async () => {
    for (const args of [[], ['--product', 'SKU-1', '--provider', reviewer]]) {
      const message = /^error: give exactly one of --product, --provider and --clinic\n/;
      expect(await run(...hold(...args, '--yes'))).toEqual(refusal(expect.any(Number) as never, message));
    }
  });
});

describe('order cancel', () => {
  it('cancels an unpaid order, records order.cancelled, and audits the patient of the order', async () => {
    const { order_no: orderNo, encounter_id, patientId } = await completedEncounter(harness, partner);
    const printed = await json('order', 'cancel', orderNo.toLowerCase(), '--tenant', partner.tenantId);
    const order = { orderStatus: 'cancelled', currency: 'USD', grandTotal: '255.00' };
    expect(printed).toEqual({ orderNo, ...order });
    const amounts = { paid_amt: '0.00', balance_amt: '0.00' };
    expect(await orderOf(orderNo)).toMatchObject({ order_status: 'cancelled', ...amounts });
    const [event] = await eventsAbout(harness, partner, { order_no: orderNo }, 'order.cancelled');
    const totals = { grand_total: '255.00', balance_amt: '0.00' };
    expect(event?.data).toEqual({ order_no: orderNo, encounter_id, order_status: 'cancelled', ...totals });
    const where = { tenantId: partner.tenantId, operationId: 'order cancel' };
    expect(await harness.domain.db.prisma.auditEvent.findMany({ where })).toMatchObject([{ patientIds: [patientId] }]);
    const other = await newOrder();
    expect(await cancel(other)).toEqual({ code: 0, stdout: `${other} (255.00 USD) is cancelled.\n`, stderr: '' });
  });

  it('refuses a partly paid order, which stays unchanged, and an order of another tenant', async () => {
    const [partly, foreign] = [await newOrder(), await newOrder(await newPartner(harness))];
    await pay(harness, partner, partly, { amount: '0.01' });
    const before = await orderOf(partly);
    expect([await cancel(partly), await cancel(foreign)]).toEqual([
      refusal(1, 'The order cannot be cancelled: 0.01 of it is paid; refund that instead.\n'),
      refusal(1, /^The tenant has no such order/),
    ]);
    expect(await orderOf(partly)).toEqual(before);
  });

  it('dates the cancellation by the clock of the sandbox', async () => {
    const sandbox = await newPartner(harness, 'sandbox');
    const orderNo = await newOrder(sandbox);
    const yearMs = 365 * 24 * 3_600_000;
    const { tenantId: id } = sandbox;
    await harness.domain.db.prisma.tenant.updateMany({ where: { id }, data: { clockOffsetMs: yearMs } });
    await cancel(orderNo, id);
    const { updatedAt } = await harness.domain.db.prisma.order.findFirstOrThrow({ where: { tenantId: id, orderNo } });
    // The program has the real clock, unlike the service of this test.
    expect(updatedAt.getTime()).toBeGreaterThan(Date.now() + yearMs - 600_000);
  });
});
