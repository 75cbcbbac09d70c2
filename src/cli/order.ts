import type { Command } from '@commander-js/extra-typings';
import { cancelOrderOf } from '../domain/orders/cancellation.js';
import { addGroup, addTenantCommand } from './command.js';
import { inTenant } from './operator.js';
import { print } from './output.js';
import type { CliIo } from './cliIo.js';

export function addOrderCommands(program: Command, terminal: CliIo): void {
  const order = addGroup(program, 'order', 'pharmacy orders of completed encounters');
  const description = 'cancel an unpaid order; its encounter stays completed';
  addTenantCommand(order, 'cancel <order-no>', description, ['ORD-100045 --tenant lakeside']).action(
    async (orderNo, { tenant, json }) => {
      const cancelled = await inTenant(terminal, tenant, (transaction, id) => cancelOrderOf(transaction, id, orderNo));
      const { orderStatus, currency } = cancelled;
      const result = { orderNo: cancelled.orderNo, orderStatus, currency, grandTotal: cancelled.grandTotal.toFixed(2) };
      print(terminal, json, result, `${result.orderNo} (${result.grandTotal} ${currency}) is cancelled.`);
    },
  );
}
