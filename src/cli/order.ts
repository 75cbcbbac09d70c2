import type { Command } from '@commander-js/extra-typings';
import { cancelOrderOf } from '../domain/orders/cancellation.js';
import { inTenant } from './operator.js';
import { example, print } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `order cancel`. */
export function addOrderCommands(program: Command, terminal: CliIo): void {
  const order = program.command('order').description('pharmacy orders of completed encounters').helpCommand(false);

  order
    .command('cancel')
    .description('cancel an unpaid order; its encounter stays completed')
    .argument('<order-no>')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--json', 'print JSON')
    .addHelpText('after', example('order cancel ORD-101045 --tenant lakeside'))
    .action(async (orderNo, { tenant, json }) => {
      const cancelled = await inTenant(terminal, tenant, (transaction, id) => cancelOrderOf(transaction, id, orderNo));
      const { orderStatus, currency } = cancelled;
      const shown = { orderNo: cancelled.orderNo, orderStatus, currency, grandTotal: cancelled.grandTotal.toFixed(2) };
      print(terminal, json, shown, () => `${shown.orderNo} over ${shown.grandTotal} ${currency} is cancelled.`);
    });
}
