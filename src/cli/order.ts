import { Option, type Command } from '@commander-js/extra-typings';
import { cancelOrderOf } from '../domain/orders/cancellation.js';
import { listOrders } from '../domain/orders/list.js';
import { balanceOf } from '../domain/orders/money.js';
import { getOrder, type OrderRecord } from '../domain/orders/orders.js';
import { addGroup, addListCommand, addTenantCommand } from './command.js';
import { asCaller, inTenant } from './operator.js';
import { fields, print, printList, table, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

const EXAMPLE = 'ORD-100045 --tenant lakeside';

export function addOrderCommands(program: Command, terminal: CliIo): void {
  const order = addGroup(program, 'order', 'pharmacy orders of completed encounters');

  addListCommand(order, 'list', 'list the newest orders of a tenant', ['--tenant lakeside --status pending'])
    .addOption(
      new Option('--status <status>', 'orders with this status').choices([
        'pending',
        'paid',
        'cancelled',
        'refunded',
      ] as const),
    )
    .option('--patient-id <user-id>', 'orders of this patient', uuidOr('Give the user_id of the patient.'))
    .action(async ({ tenant, json, ...filter }) => {
      const page = await asCaller(terminal, tenant, (context) => listOrders(context, filter));
      printList(terminal, json, page, shown);
    });

  addTenantCommand(order, 'show <order-no>', 'show an order with its lines', [EXAMPLE]).action(
    async (orderNo, { tenant, json }) => {
      const record = await asCaller(terminal, tenant, (context) =>
        context.db.snapshot((db) => getOrder({ ...context, db }, orderNo)),
      );
      const value = { ...shown(record), balance: balanceOf(record).toFixed(2), clinic: record.clinicId };
      const lines = record.lines.map(({ sku, status, pharmacyName, holdReason, trackingNumber }) => {
        return { sku, status, pharmacy: pharmacyName, hold: holdReason, tracking: trackingNumber };
      });
      const cells = lines.map((line) => Object.values(line).map((cell) => cell ?? ''));
      const told = `${fields(value)}\n${table(['SKU', 'STATUS', 'PHARMACY', 'HOLD', 'TRACKING'], cells)}`;
      print(terminal, json, { ...value, lines }, told);
    },
  );

  const description = 'cancel an unpaid order; its encounter stays completed';
  addTenantCommand(order, 'cancel <order-no>', description, [EXAMPLE]).action(async (orderNo, { tenant, json }) => {
    const cancelled = await inTenant(terminal, tenant, (transaction, id) => cancelOrderOf(transaction, id, orderNo));
    const { orderStatus, currency } = cancelled;
    const result = { orderNo: cancelled.orderNo, orderStatus, currency, grandTotal: cancelled.grandTotal.toFixed(2) };
    print(terminal, json, result, `${result.orderNo} (${result.grandTotal} ${currency}) is cancelled.`);
  });
}

const shown = (order: OrderRecord) => ({
  order: order.orderNo,
  status: order.orderStatus,
  encounter: Number(order.encounter.encounterNo),
  patient: order.encounter.patientId,
  currency: order.currency,
  total: order.grandTotal.toFixed(2),
  paid: order.paidAmt.toFixed(2),
  created: order.createdAt.toISOString(),
});
