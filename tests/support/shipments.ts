import { Prisma } from '../../generated/prisma/client.js';
import { cast, revokeOrders } from './cast.js';
import type { ContractOperation } from './contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller } from './http.js';
import { getOrder } from './orders.js';
import type { Provocation } from './provoked.js';

/** PUT /orders/{order_no}/ship-to */
export function putShipTo(harness: Harness, { token }: Caller, orderNo: string, json: unknown): Promise<Answer> {
  return call(harness, `PUT /orders/${orderNo}/ship-to`, { token, json });
}

/** Records statuses of the first pharmacy of an order, one after the other; returns the answers. */
export async function fulfil(harness: Harness, { token }: Caller, orderNo: string, ...statuses: string[]) {
  const { pharmacyId } = (await getOrder(harness, { token }, orderNo)).body.lines[0];
  const answers: Answer[] = [];
  for (const status of statuses) {
    const json = { pharmacyId, status };
    answers.push(await call(harness, `POST /orders/${orderNo}/fulfilments`, { token, json }));
  }
  return answers;
}

type Body = Readonly<Record<string, unknown>>;
type Send = (operation: ContractOperation, options?: { query?: Body; body?: Body }) => Promise<Answer>;
type After = (change: () => Promise<unknown>, provoke: Provocation) => Provocation;

/** Provokes the refusals of shipments in the sandbox of the cast. */
export function provokedByShipments(
  stage: () => { readonly harness: Harness; readonly partner: Partner },
  after: After,
  send: Send,
): Record<string, Provocation> {
  const { order_no: orderNo } = cast.encounters.paid;
  const advance = (...statuses: string[]): Promise<unknown> =>
    fulfil(stage().harness, stage().partner, orderNo, ...statuses);
  const acceptWithoutAddress = async (): Promise<void> => {
    const { harness, partner } = stage();
    await advance('accepted');
    const where = { tenantId: partner.tenantId, orderNo };
    await harness.domain.db.prisma.order.updateMany({ where, data: { shipTo: Prisma.DbNull } });
  };
  return {
    approval_ended: after(
      () => revokeOrders(stage().harness, stage().partner),
      (operation) => send(operation),
    ),
    'recordFulfilment treatment_not_found': (operation) => send(operation, { body: { treatmentIds: [cast.absent] } }),
    'getDispensing ship_to_required': after(acceptWithoutAddress, (operation) => send(operation)),
    'recordFulfilment ship_to_required': after(acceptWithoutAddress, (operation) =>
      send(operation, { body: { status: 'shipped' } }),
    ),
    'setShipTo invalid_state': after(
      () => advance('accepted', 'shipped'),
      (operation) => send(operation),
    ),
  };
}
