import { cast } from './cast.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import type { After, Provocation, Send } from './provoked.js';
import { reviewer } from './reviews.js';
import { fillSandbox } from './sandbox.js';

type Owner = Pick<Partner, 'tenantId'>;

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

async function encounterOf({ domain: { db } }: Harness, { tenantId }: Owner, encounterNo: number) {
  const where = { tenantId_encounterNo: { tenantId, encounterNo: BigInt(encounterNo) } };
  const { id: encounterId } = await db.prisma.encounter.findUniqueOrThrow({ where, select: { id: true } });
  return { tenantId, encounterId, reviewerRef: reviewer };
}

/** Adds addenda to an encounter, bypassing the rules. */
export async function addAddenda(harness: Harness, owner: Owner, encounterNo: number, count: number, text = 'More.') {
  const { db, newId } = harness.domain;
  const row = { ...(await encounterOf(harness, owner, encounterNo)), addedAt: harness.clock.now, text };
  await db.prisma.encounterAddendum.createMany({ data: times(count, () => ({ id: newId(), ...row })) });
}

/** Adds finished rounds of information to an encounter, bypassing the rules. */
export async function addRounds(harness: Harness, owner: Owner, encounterNo: number, count: number): Promise<void> {
  const { db, newId } = harness.domain;
  const { now } = harness.clock;
  const row = { ...(await encounterOf(harness, owner, encounterNo)), message: 'Since when?', additionalNotes: 'May.' };
  const at = { requestedAt: now, providedAt: now, expiresAt: now };
  await db.prisma.encounterInformation.createMany({ data: times(count, () => ({ id: newId(), ...row, ...at })) });
}

/** Adds payments of 0.02 to a pending order, bypassing the rules. */
export async function addPayments(harness: Harness, owner: Owner, orderNo: string, count: number): Promise<void> {
  const { db, newId } = harness.domain;
  const { tenantId } = owner;
  await db.prisma.$transaction(async (transaction) => {
    const where = { tenantId, orderNo };
    await transaction.order.updateMany({ where, data: { paidAmt: { increment: count / 50 } } });
    const { id: orderId } = await transaction.order.findFirstOrThrow({ where });
    const { id: apiClientId } = await transaction.apiClient.findFirstOrThrow({ where: { tenantId } });
    const row = { tenantId, orderId, apiClientId, amount: '0.02', createdAt: harness.clock.now };
    await transaction.payment.createMany({ data: times(count, () => ({ id: newId(), ...row })) });
  });
}

/** Adds a payment of 10.00 with refunds of 0.01 to a pending order, bypassing the rules. */
export async function addRefunds(harness: Harness, owner: Owner, orderNo: string, count: number, reason: string) {
  const { db, newId } = harness.domain;
  const { tenantId } = owner;
  const createdAt = harness.clock.now;
  await db.prisma.$transaction(async (transaction) => {
    const where = { tenantId, orderNo };
    await transaction.order.updateMany({ where, data: { paidAmt: 10 - count / 100, refundedAmt: count / 100 } });
    const { id: orderId } = await transaction.order.findFirstOrThrow({ where });
    const { id: apiClientId } = await transaction.apiClient.findFirstOrThrow({ where: { tenantId } });
    const row = { tenantId, orderId, apiClientId, createdAt };
    const payment = { id: newId(), ...row, amount: 10, refundedAmt: count / 100 };
    await transaction.payment.create({ data: payment });
    const refund = { ...row, paymentId: payment.id, amount: '0.01', reason };
    await transaction.refund.createMany({ data: times(count, () => ({ id: newId(), ...refund })) });
  });
}

/** Copies the first order of an encounter, bypassing the rules. */
export async function addOrders(harness: Harness, { tenantId }: Owner, encounterNo: number, count: number) {
  const { db, newId } = harness.domain;
  const where = { tenantId, encounter: { encounterNo: BigInt(encounterNo) } };
  const {
    lines,
    shipTo: _shipTo,
    orderNo: _orderNo,
    ...first
  } = await db.prisma.order.findFirstOrThrow({ where, include: { lines: true } });
  const orders = Array.from({ length: count }, (_, index) => {
    return { ...first, id: newId(), orderSequence: BigInt(900_000 + index), position: index + 1 };
  });
  const copies = orders.flatMap(({ id: orderId }) => lines.map((line) => ({ ...line, id: newId(), orderId })));
  await db.prisma.$transaction([
    db.prisma.order.createMany({ data: orders }),
    db.prisma.orderLine.createMany({ data: copies }),
  ]);
}

/** Provokes `too_many_records` and `sandbox_full` in the sandbox of the contract's examples. */
export function provokedByFullRecords(
  stage: () => { readonly harness: Harness; readonly partner: Owner },
  after: After,
  send: Send,
): Record<string, Provocation> {
  const { completed, claimed, waiting, unchanged } = cast.encounters;
  const { order_no } = completed;
  const fillRecords = async (): Promise<void> => {
    const { harness, partner } = stage();
    await addAddenda(harness, partner, completed.encounter_id, 100);
    for (const { encounter_id } of [claimed, waiting]) await addRounds(harness, partner, encounter_id, 20);
    await addPayments(harness, partner, order_no, 200);
    await addOrders(harness, partner, unchanged.encounter_id, 99);
  };
  const fillTenant = async (): Promise<void> => {
    const { harness, partner } = stage();
    for (const table of ['client', 'encounter'] as const) await fillSandbox(harness, partner.tenantId, table);
  };
  const asking = { outcome: 'request_information', pay: undefined };
  return {
    too_many_records: after(fillRecords, (operation) => send(operation)),
    'simulateEncounter too_many_records': after(fillRecords, (operation) => send(operation, { body: asking })),
    'provideInformation too_many_records': after(fillRecords, (operation) =>
      send(operation, { query: { encounter_id: waiting.encounter_id } }),
    ),
    'refundPayment too_many_records': after(fillRecords, async (operation) => {
      const { harness, partner } = stage();
      const where = { tenantId: partner.tenantId, order: { orderNo: order_no } };
      const { id: payment_id } = await harness.domain.db.prisma.payment.findFirstOrThrow({ where });
      return send(operation, { query: { order_no }, body: { payment_id, amount: '0.01' } });
    }),
    sandbox_full: after(fillTenant, (operation) => send(operation)),
  };
}
