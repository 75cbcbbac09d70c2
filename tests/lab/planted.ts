import { plantedForTests } from './plantedForTests.js';

/** A fault to plant in a copy of the service. */
export interface Planted {
  /** The defect of the service with this fault. */
  readonly name: string;
  /** Its file, below src. */
  readonly where: string;
  /** The text that occurs once in the file, white space aside, and what replaces it. */
  readonly break: readonly [string, string];
  /** The auditor, or the test files of which one must notice the fault: parts of their paths, as few as possible. */
  readonly noticedBy: string | readonly string[];
}

/** Faults that a test of one operation may miss. */
const plantedForAuditor: readonly Omit<Planted, 'noticedBy'>[] = [
  {
    name: 'lost update of a patient',
    where: 'domain/patients/update.ts',
    break: ['if (!isExpected(patient.version))', 'if (false)'],
  },
  {
    name: 'lost update of an encounter',
    where: 'domain/encounters/update.ts',
    break: ['if (!isExpected(state.version))', 'if (false)'],
  },
  {
    name: 'claim that another provider can use',
    where: 'domain/encounters/states.ts',
    break: [
      "return isOfClient && encounter.reviewerRef === reviewerRef ? 'claimant' : 'provider';",
      "return isOfClient || reviewerRef ? 'claimant' : 'provider';",
    ],
  },
  {
    name: 'unknown provider where licenses are required',
    where: 'domain/providers/licenses.ts',
    break: [
      'if (!isLicenseRequired || (provider && isLicensed(',
      'if (!isLicenseRequired || (!provider || isLicensed(',
    ],
  },
  {
    name: 'claim that lapses early',
    where: 'domain/encounters/states.ts',
    break: [
      'leaseExpiresAt !== null && now >= leaseExpiresAt',
      'leaseExpiresAt !== null && now.getTime() >= leaseExpiresAt.getTime() - 3_599_000',
    ],
  },
  {
    name: 'change without its event',
    where: 'domain/encounters/update.ts',
    break: ["events: [announced(rescheduled, 'encounter.rescheduled')]", 'events: []'],
  },
  {
    name: 'event recorded twice',
    where: 'domain/transactions/changes.ts',
    break: [
      'told.push(...events.map(',
      "told.push(...events.flatMap((event) => (event.type === 'order.paid' ? [event, event] : [event])).map(",
    ],
  },
  {
    name: 'event skipped between two pages',
    where: 'domain/transactions/listCursor.ts',
    break: [
      'nextCursor: cursorOf(owner, last ?? start)',
      'nextCursor: cursorOf(owner, BigInt(last ?? start) + (rows.length % 7 === 3 ? 1n : 0n))',
    ],
  },
  {
    name: 'event with the amounts before the payment',
    where: 'domain/orders/payments.ts',
    break: [
      "paid.orderStatus === 'paid' ? 'order.paid' : 'order.updated', paid)",
      "paid.orderStatus === 'paid' ? 'order.paid' : 'order.updated', order)",
    ],
  },
  {
    name: 'second effect of a repeated request',
    where: 'operations/withIdempotency.ts',
    break: ['if (idempotency && !isFirst)', 'if (idempotency && !isFirst && false)'],
  },
  {
    name: 'replay that differs',
    where: 'operations/withIdempotency.ts',
    break: [
      'return { ...response, headers:',
      'return { ...response, body: { ...Object(response.body), createdAt: new Date().toISOString() }, headers:',
    ],
  },
  {
    name: 'replay for another body',
    where: 'domain/transactions/idempotency.ts',
    break: ['!fingerprint.equals(stored.fingerprint)', 'false'],
  },
  {
    name: 'payment above the balance',
    where: 'domain/orders/payments.ts',
    break: ['if (order.balanceAmt.lessThan(amount))', 'if (order.grandTotal.lessThan(amount))'],
  },
  {
    name: 'doubled payment',
    where: 'domain/orders/payments.ts',
    break: [
      'payments: [...order.payments, payment] });',
      'payments: [...order.payments, payment, ...(order.paidAmt.isZero() ? [] : [{ ...payment, id: at.newId() }])] });',
    ],
  },
  {
    name: 'concurrent payments without a lock',
    where: 'domain/orders/command.ts',
    break: [
      'ordersWhere(db, tenantId, isNumbered, Prisma.sql`FOR NO KEY UPDATE`)',
      'ordersWhere(db, tenantId, isNumbered)',
    ],
  },
  {
    name: 'refund that ends the order early',
    where: 'domain/orders/money.ts',
    break: ['if (!received.isZero() && paidAmt.isZero())', 'if (paidAmt.lessThan(received))'],
  },
  {
    name: 'order with a denied treatment',
    where: 'domain/reviews/review.ts',
    break: ["return item && treatment.decision === 'approved' ?", 'return item ?'],
  },
  {
    name: 'balance without holds',
    where: 'domain/orders/money.ts',
    break: ['const dueLines = open.filter(({ holdAt }) => holdAt === null);', 'const dueLines = open;'],
  },
  {
    name: 'held line that can be shipped',
    where: 'domain/orders/fulfilments.ts',
    break: ["stopped.length > 0 && status !== 'cancelled'", "stopped.length > 0 && status === 'delivered'"],
  },
  {
    name: 'revocation without a hold',
    where: 'domain/orders/holds.ts',
    break: ['const first = held(order, isMeant, reason, now);', 'const first = held(order, () => false, reason, now);'],
  },
  {
    name: 'denial that leaves earlier approvals',
    where: 'domain/reviews/review.ts',
    break: [
      'const productIds = by.treatments.map(',
      "const productIds = by.treatments.filter(({ decision }) => decision !== 'denied').map(",
    ],
  },
  {
    name: 'address that changes after a pharmacy accepted a line',
    where: 'domain/orders/shipTo.ts',
    break: ['if (taken) throw', 'if (false && taken) throw'],
  },
  {
    name: 'skipped step of a fulfilment',
    where: 'domain/orders/fulfilments.ts',
    break: [
      "pending: ['accepted', 'exception', 'cancelled'],",
      "pending: ['accepted', 'exception', 'cancelled', 'delivered', 'shipped'],",
    ],
  },
  {
    name: 'record of another tenant',
    where: 'domain/encounters/lookup.ts',
    break: [
      'WHERE encounter.tenant_id = ${caller.tenantId} AND encounter.encounter_no = ${encounterNumber(named)}`;',
      "WHERE (encounter.tenant_id = ${caller.tenantId} OR encounter.tenant_id <> '') AND encounter.encounter_no = ${encounterNumber(named)}`;",
    ],
  },
  {
    name: 'stale read',
    where: 'operations/getOrder.ts',
    break: [
      'return { status: 200, body: orderView(order) };',
      'const cache = (Object(globalThis).planted ??= new Map());\n      const { body, at } = cache.get(order.orderNo) ?? { body: orderView(order), at: Date.now() };\n      if (Date.now() - at < 500) cache.set(order.orderNo, { body, at });\n      else cache.delete(order.orderNo);\n      return { status: 200, body };',
    ],
  },
  {
    name: 'missing audit row of a replay',
    where: 'operations/withIdempotency.ts',
    break: ['audit.isRecorded = !isReplay;', 'audit.isRecorded = true;'],
  },
  {
    name: 'failed webhook that counts as delivered',
    where: 'domain/webhooks/deliver.ts',
    break: ['status !== null && status >= 200 && status < 300;', 'status !== null && status >= 200;'],
  },
  {
    name: 'webhook that is not sent',
    where: 'domain/webhooks/fanOut.ts',
    break: [
      'event.position > ${after} AND event.position <= ${through} AND ${isWanted(tenantId)}',
      'event.position > ${after} AND event.position < ${through} AND ${isWanted(tenantId)}',
    ],
  },
  {
    name: 'second withdrawal with another reason',
    where: 'domain/documents/documents.ts',
    break: [
      'if (document.withdrawalReason === reason) return document;',
      'if (document.withdrawalReason !== null) return document;',
    ],
  },
  {
    name: 'verification that fails after it succeeded',
    where: 'domain/patients/verification.ts',
    break: ['VERIFIED: [],', "VERIFIED: ['NOTVERIFIED'],"],
  },
  {
    name: 'reset that reaches other tenants',
    where: 'domain/sandbox/reset.ts',
    break: [
      'transaction.audited.push(row);',
      'transaction.audited.push(row); await db.everyTenant.run`DELETE FROM refund`; await db.everyTenant.run`DELETE FROM payment`;',
    ],
  },
];

export const planted: readonly Planted[] = [
  ...plantedForAuditor.map((fault) => ({ ...fault, noticedBy: 'auditor' })),
  ...plantedForTests,
];
