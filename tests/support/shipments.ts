import { randomUUID } from 'node:crypto';
import type { Prisma } from '../../generated/prisma/client.js';
import { cast, revokeOrders } from './cast.js';
import { exampleBody, operationOf } from './contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller } from './http.js';
import { getOrder } from './orders.js';
import type { After, Provocation, Send } from './provoked.js';

/** PUT /orders/{order_no}/ship-to */
export function putShipTo(harness: Harness, { token }: Caller, orderNo: string, json: unknown): Promise<Answer> {
  return call(harness, `PUT /orders/${orderNo}/ship-to`, { token, json });
}

/** Records statuses of the first pharmacy of an order, one after the other; returns the answers. */
export async function fulfil(harness: Harness, { token }: Caller, orderNo: string, ...statuses: string[]) {
  const { pharmacyId } = (await getOrder(harness, { token }, orderNo)).body.lines[0];
  const answers: Answer[] = [];
  for (const status of statuses) {
    const json = { pharmacyId, status, acknowledgeChanges: true };
    answers.push(await call(harness, `POST /orders/${orderNo}/fulfilments`, { token, json }));
  }
  return answers;
}

/** Provokes the refusals of shipments in the sandbox of the contract's examples. */
export function provokedByShipments(
  stage: () => { readonly harness: Harness; readonly partner: Partner },
  after: After,
  send: Send,
): Record<string, Provocation> {
  const { order_no: orderNo } = cast.encounters.paid;
  const advance = (...statuses: string[]): Promise<unknown> =>
    fulfil(stage().harness, stage().partner, orderNo, ...statuses);
  const removeCity = async (): Promise<void> => {
    const { harness, partner } = stage();
    const where = { tenantId: partner.tenantId, orderNo };
    const { city: _city, ...shipTo } = exampleBody(operationOf('setShipTo'));
    await harness.domain.db.prisma.order.updateMany({ where, data: { shipTo: shipTo as Prisma.InputJsonObject } });
  };
  const uploadForNoah = () => send(operationOf('uploadPatientDocument'), { query: { id: cast.noah.id } });
  const acceptOfNoah: Provocation = async (operation) => {
    const { harness, partner } = stage();
    const { order_no } = cast.encounters.unchanged;
    await putShipTo(harness, partner, order_no, exampleBody(operationOf('setShipTo')));
    const { pharmacyId } = (await getOrder(harness, partner, order_no)).body.lines[0];
    return send(operation, { query: { order_no }, body: { pharmacyId, acknowledgeChanges: undefined } });
  };
  const reorderUntilRefused: Provocation = async (operation) => {
    const { harness, partner } = stage();
    const { token } = partner;
    const treatmentIds = [cast.products.semaglutide];
    const json = { ...exampleBody(operationOf('createEncounter'), 'minimal'), patientId: cast.noah.id, treatmentIds };
    const { encounter_id } = (await call(harness, 'POST /encounters', { token, json })).body;
    const simulation = { token, json: { outcome: 'approve_all' } };
    await call(harness, `POST /sandbox/encounters/${encounter_id}/simulate`, simulation);
    let answer: Answer;
    do {
      const headers = { 'Idempotency-Key': randomUUID() };
      answer = await send(operation, { query: { encounter_id }, body: { treatmentIds }, headers });
    } while (answer.status === 201);
    return answer;
  };
  return {
    approval_ended: after(
      () => revokeOrders(stage().harness, stage().partner),
      (operation) => send(operation),
    ),
    'recordFulfilment treatment_not_found': (operation) => send(operation, { body: { treatmentIds: [cast.absent] } }),
    'recordFulfilment facts_changed': after(uploadForNoah, acceptOfNoah),
    'reorderTreatments facts_changed': after(uploadForNoah, (operation) => send(operation)),
    'reorderTreatments no_refills_left': after(async () => undefined, reorderUntilRefused),
    ship_to_required: after(removeCity, (operation) => send(operation)),
    'getDispensing invalid_state': after(
      () => advance('cancelled'),
      (operation) => send(operation),
    ),
    'setShipTo invalid_state': after(
      () => advance('accepted'),
      (operation) => send(operation),
    ),
  };
}
