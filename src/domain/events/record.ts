import type { EventType, Schemas } from '../../contract.js';
import type { NewEvent } from '../transactions/outbox.js';
import type { TransactionContext } from '../transactions/transaction.js';

type Data = Schemas['EventData'];

/** The data of each event: ids and states only, never a name or a note. */
type Members = {
  'patient.created': 'user_id';
  'patient.updated': 'user_id' | 'changed';
  'patient.verification_updated': 'user_id' | 'isVerified';
  'document.created': 'documentId' | 'user_id' | 'docType';
  'encounter.created': 'encounter_id' | 'gfe_no' | 'status' | 'reviewType' | 'clinicId' | 'patientId';
  'encounter.review_started': 'encounter_id' | 'gfe_no';
  'encounter.released': 'encounter_id' | 'gfe_no';
  'encounter.information_requested': 'encounter_id' | 'gfe_no';
  'encounter.information_provided': 'encounter_id' | 'gfe_no';
  'encounter.rescheduled': 'encounter_id' | 'gfe_no';
  'encounter.completed': 'encounter_id' | 'gfe_no' | 'approved' | 'denied' | 'order_no';
  'encounter.denied': 'encounter_id' | 'gfe_no' | 'denied';
  'encounter.cancelled': 'encounter_id' | 'gfe_no' | 'reason';
  'encounter.expired': 'encounter_id' | 'gfe_no';
  'gfe.expiring': GfeMember;
  'gfe.expired': GfeMember;
  'gfe.superseded': EndMember;
  'gfe.revoked': EndMember;
  'order.created': OrderMember;
  'order.updated': OrderMember;
  'order.paid': OrderMember;
  'order.cancelled': OrderMember;
  'order.refunded': OrderMember;
  'order.fulfilment_updated': 'order_no' | 'encounter_id' | 'pharmacyId' | 'fulfilment_status';
};
type GfeMember = 'encounter_id' | 'gfe_no' | 'patientId' | 'categoryId' | 'subcategoryId' | 'validUntil';
type EndMember = Exclude<GfeMember, 'validUntil'> | 'by_encounter_id';
type OrderMember = 'order_no' | 'encounter_id' | 'order_status' | 'grand_total' | 'balance_amt';

/** The data of an event of this type, complete and nothing more; the end of an approval names an order if there is one. */
export type EventDataOf<Type extends EventType> = Required<Pick<Data, Members[Type]>> &
  (Type extends 'gfe.superseded' | 'gfe.revoked' ? Pick<Data, 'order_no'> : unknown);

/** Whose event it is. */
export type EventPlace = Pick<NewEvent, 'tenantId' | 'clinicId'>;

/** Records an event of the change that the transaction makes (D-21). */
export function recordEvent<Type extends EventType>(
  { events, newId, now }: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  { tenantId, clinicId }: EventPlace,
  type: Type,
  data: EventDataOf<Type>,
): void {
  events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });
}
