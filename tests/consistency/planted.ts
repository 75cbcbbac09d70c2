/** A fault to plant in a copy of the service: the text occurs once in the file. */
export interface Planted {
  readonly name: string;
  /** Below src. */
  readonly file: string;
  readonly search: string;
  readonly replacement: string;
}

/** Faults that a test of one operation may miss, and the auditor must see. */
export const planted: readonly Planted[] = [
  {
    name: 'lost update of a patient',
    file: 'domain/patients/update.ts',
    search: 'if (!isExpected(patient.version))',
    replacement: 'if (false)',
  },
  {
    name: 'lost update of an encounter',
    file: 'domain/encounters/update.ts',
    search: 'if (!isExpected(encounter.version))',
    replacement: 'if (false)',
  },
  {
    name: 'claim of another provider',
    file: 'domain/encounters/states.ts',
    search: "return isOfClient && encounter.reviewerRef === reviewerRef ? 'claimant' : 'provider';",
    replacement: "return isOfClient || reviewerRef ? 'claimant' : 'provider';",
  },
  {
    name: 'claim that lapses early',
    file: 'domain/encounters/states.ts',
    search: 'leaseExpiresAt !== null && now >= leaseExpiresAt',
    replacement: 'leaseExpiresAt !== null && now.getTime() >= leaseExpiresAt.getTime() - 3_595_000',
  },
  {
    name: 'skipped event of a change',
    file: 'domain/encounters/update.ts',
    search: "effects: announce('encounter.rescheduled')",
    replacement: 'effects: () => ({})',
  },
  {
    name: 'event told twice',
    file: 'domain/events/record.ts',
    search: 'events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });',
    replacement: `events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });
      if (type === 'order.paid') events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });`,
  },
  {
    name: 'event skipped between two pages',
    file: 'domain/transactions/positionCursor.ts',
    search: 'nextCursor: cursorOf(owner, last ?? start)',
    replacement: 'nextCursor: cursorOf(owner, BigInt(last ?? start) + (rows.length % 7 === 3 ? 1n : 0n))',
  },
  {
    name: 'event with amounts of before',
    file: 'domain/orders/payments.ts',
    search: "changed.orderStatus === 'paid' ? 'order.paid' : 'order.updated', changed)",
    replacement: "changed.orderStatus === 'paid' ? 'order.paid' : 'order.updated', order)",
  },
  {
    name: 'second effect of a repeated request',
    file: 'operations/withIdempotency.ts',
    search: 'if (idempotency && !isFirst)',
    replacement: 'if (idempotency && !isFirst && false)',
  },
  {
    name: 'replay that differs',
    file: 'operations/withIdempotency.ts',
    search: 'return { ...response, headers:',
    replacement:
      'return { ...response, body: { ...Object(response.body), createdAt: new Date().toISOString() }, headers:',
  },
  {
    name: 'replay for another body',
    file: 'domain/transactions/idempotency.ts',
    search: '!fingerprint.equals(stored.fingerprint)',
    replacement: 'false',
  },
  {
    name: 'payment above the balance',
    file: 'domain/orders/payments.ts',
    search: 'if (balanceOf(order).lessThan(amount))',
    replacement: 'if (order.grandTotal.lessThan(amount))',
  },
  {
    name: 'doubled payment',
    file: 'domain/orders/payments.ts',
    search: 'paidAmt: order.paidAmt.plus(amount) });',
    replacement: 'paidAmt: order.paidAmt.plus(amount).plus(order.paidAmt.isZero() ? 0 : amount) });',
  },
  {
    name: 'concurrent payments without a lock',
    file: 'domain/orders/orders.ts',
    search: 'order_no = ${orderNo.toUpperCase()} FOR NO KEY UPDATE`',
    replacement: 'order_no = ${orderNo.toUpperCase()}`',
  },
  {
    name: 'refund that ends the order early',
    file: 'domain/orders/refunds.ts',
    search: "orderStatus === 'paid' && paidAmt.isZero()",
    replacement: "orderStatus === 'paid' || paidAmt.isZero()",
  },
  {
    name: 'order of what was denied',
    file: 'domain/approvals/inForce.ts',
    search: 'return item && isInForce(item, at, treatment.productId) ?',
    replacement: 'return item && (at || isInForce(item, at)) ?',
  },
  {
    name: 'balance without holds',
    file: 'domain/orders/money.ts',
    search: 'grandTotal.minus(paidAmt).minus(heldAmt);',
    replacement: 'grandTotal.minus(paidAmt);',
  },
  {
    name: 'held line that goes on',
    file: 'domain/orders/fulfilments.ts',
    search: "held.length > 0 && status !== 'cancelled'",
    replacement: "held.length > 0 && status === 'delivered'",
  },
  {
    name: 'revocation without a hold',
    file: 'domain/orders/holds.ts',
    search: 'if (orders.length === 0) return;',
    replacement: 'if (orders.length >= 0) return;',
  },
  {
    name: 'denial that leaves earlier approvals',
    file: 'domain/approvals/endings.ts',
    search: 'if (denied.length === 0) return;',
    replacement: 'if (denied.length >= 0) return;',
  },
  {
    name: 'address that changes after the shipment',
    file: 'domain/orders/shipTo.ts',
    search: 'if (shipped) throw',
    replacement: 'if (false && shipped) throw',
  },
  {
    name: 'skipped step of a fulfilment',
    file: 'domain/orders/fulfilments.ts',
    search: "pending: ['accepted', 'exception'],",
    replacement: "pending: ['accepted', 'exception', 'delivered', 'shipped', 'cancelled'],",
  },
  {
    name: 'record of another tenant',
    file: 'domain/encounters/lookup.ts',
    search: 'WHERE encounter.tenant_id = ${caller.tenantId} AND encounter.encounter_no = ${encounterNo}`;',
    replacement:
      "WHERE (encounter.tenant_id = ${caller.tenantId} OR encounter.tenant_id <> '') AND encounter.encounter_no = ${encounterNo}`;",
  },
  {
    name: 'stale read',
    file: 'operations/getOrder.ts',
    search: 'return { status: 200, body: orderView(order) };',
    replacement: `const cache = (Object(globalThis).planted ??= new Map());
      const { body, at } = cache.get(order.orderNo) ?? { body: orderView(order), at: Date.now() };
      if (Date.now() - at < 500) cache.set(order.orderNo, { body, at });
      else cache.delete(order.orderNo);
      return { status: 200, body };`,
  },
  {
    name: 'missing audit row of a replay',
    file: 'operations/withIdempotency.ts',
    search: 'audit.isCommitted = !isReplay;',
    replacement: 'audit.isCommitted = true;',
  },
  {
    name: 'webhook that counts as delivered',
    file: 'domain/webhooks/deliver.ts',
    search: 'status !== null && status >= 200 && status < 300;',
    replacement: 'status !== null && status >= 200;',
  },
  {
    name: 'webhook that is not sent',
    file: 'domain/webhooks/fanOut.ts',
    search: 'event.position > ${after} AND event.position <= ${through} AND ${isWanted}',
    replacement: 'event.position > ${after} AND event.position < ${through} AND ${isWanted}',
  },
  {
    name: 'withdrawal with another reason',
    file: 'domain/documents/documents.ts',
    search: 'if (earlier.withdrawalReason === reason) return earlier;',
    replacement: 'if (earlier.withdrawalReason !== null) return earlier;',
  },
  {
    name: 'verification that fails after it succeeded',
    file: 'domain/patients/verification.ts',
    search: 'VERIFIED: [],',
    replacement: "VERIFIED: ['NOTVERIFIED'],",
  },
  {
    name: 'reset that reaches other tenants',
    file: 'domain/sandbox/reset.ts',
    search: 'transaction.audited.push(row);',
    replacement:
      'transaction.audited.push(row); await db.everyTenant.run`DELETE FROM refund`; await db.everyTenant.run`DELETE FROM payment`;',
  },
];
