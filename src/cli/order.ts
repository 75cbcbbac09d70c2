import type { Command } from '@commander-js/extra-typings';
import { cancelOrder, ordersToStop, stopLines, type Recall } from '../domain/orders/cancellation.js';
import { inTransaction } from '../domain/transactions/transaction.js';
import { addGroup, addTenantCommand } from './command.js';
import { confirm, marked, previewable } from './confirmation.js';
import { forTenant, inTenant } from './operator.js';
import { print, reasonCode, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

export function addOrderCommands(program: Command, terminal: CliIo): void {
  const order = addGroup(program, 'order', 'pharmacy orders of completed encounters');
  const description =
    'cancel an order without payments, of which no line is accepted or has shipped; its encounter stays completed';
  addTenantCommand(order, 'cancel <order-no>', description, ['ORD-100045 --tenant lakeside']).action(
    async (orderNo, { tenant, json }) => {
      const cancelled = await inTenant(terminal, tenant, (transaction) => cancelOrder(transaction, orderNo, null));
      const { orderStatus, currency } = cancelled;
      const result = { orderNo: cancelled.orderNo, orderStatus, currency, grandTotal: cancelled.grandTotal.toFixed(2) };
      print(terminal, json, result, `${result.orderNo} (${result.grandTotal} ${currency}) is cancelled.`);
    },
  );

  const holding =
    'stop a product, a provider or a clinic: holds all lines that have not left a pharmacy, and recalls those that have; ' +
    'a hold cannot be lifted';
  previewable(
    addTenantCommand(order, 'hold', holding, ['--tenant lakeside --product SEMA-25 --reason recall/2026-11 --yes']),
  )
    .option('--product <sku>', 'lines of this product')
    .option('--provider <reference>', 'lines that this provider approved')
    .option('--clinic <id>', 'lines of this clinic', uuidOr('Give the id of the clinic.'))
    .requiredOption('--reason <code>', 'why, as a word or reference without personal data, for the audit', reasonCode)
    .action(async ({ tenant, json, yes, dryRun, ...given }, command) => {
      const recall = recallOf(given);
      if (!recall) return command.error('error: give exactly one of --product, --provider and --clinic');
      if (!dryRun) await confirm(terminal, `This stops lines of orders of ${tenant}, which cannot be undone.`, yes);
      const orders = await forTenant(terminal, tenant, async ({ caller, ...context }) => {
        const found = await ordersToStop({ ...context, caller }, recall);
        // One transaction per order: a single one would block requests about all these patients. A rerun does the rest.
        for (const orderNo of dryRun ? [] : found) {
          await inTransaction(context, (transaction) => stopLines({ ...transaction, caller }, orderNo, recall));
        }
        return found;
      });
      const counted = `Orders with ${dryRun ? 'lines to stop' : 'stopped lines'}: ${orders.length}.`;
      const told = [counted, orders.join(', ')].filter(Boolean).join(' ');
      print(terminal, json, { orders }, marked(dryRun, told));
    });
}

/** The one recall that the options name; null = none, or several. */
function recallOf({
  product,
  provider,
  clinic,
}: Partial<Record<'product' | 'provider' | 'clinic', string>>): Recall | null {
  const named: Recall[] = [
    ...(product === undefined ? [] : [{ sku: product }]),
    ...(provider === undefined ? [] : [{ reviewerRef: provider }]),
    ...(clinic === undefined ? [] : [{ clinicId: clinic }]),
  ];
  return named.length === 1 ? (named[0] ?? null) : null;
}
