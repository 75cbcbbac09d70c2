import type { EventType, Schemas } from '../../contract.js';
import type { TransactionContext } from '../transactions/transaction.js';

type Data = Schemas['EventData'];

/** The data of each event: ids and states only, never a name or a note. */
type Members = {
  'patient.created': 'user_id';
  'patient.verification_updated': 'user_id' | 'isVerified';
  'document.created': 'documentId' | 'user_id' | 'docType';
  'encounter.created': 'encounter_id' | 'gfe_no' | 'status' | 'reviewType' | 'clinicId' | 'patientId';
  'encounter.review_started': 'encounter_id' | 'gfe_no';
  'encounter.released': 'encounter_id' | 'gfe_no';
  'encounter.completed': 'encounter_id' | 'gfe_no' | 'approved' | 'denied' | 'order_no';
  'encounter.denied': 'encounter_id' | 'gfe_no' | 'denied';
  'encounter.cancelled': 'encounter_id' | 'gfe_no' | 'reason';
  'encounter.expired': 'encounter_id' | 'gfe_no';
  'gfe.expiring': GfeMember;
  'gfe.expired': GfeMember;
  'order.created': OrderMember;
  'order.updated': OrderMember;
  'order.paid': OrderMember;
  'order.cancelled': OrderMember;
};
type GfeMember = 'encounter_id' | 'gfe_no' | 'patientId' | 'categoryId' | 'subcategoryId' | 'validUntil';
type OrderMember = 'order_no' | 'encounter_id' | 'order_status' | 'grand_total' | 'balance_amt';

/** The data of an event of this type, complete and nothing more. */
export type EventDataOf<Type extends EventType> = Required<Pick<Data, Members[Type]>>;

/** Whose event it is; `clinicId` null = of no clinic, so that every client of the tenant reads it. */
export interface EventPlace {
  readonly tenantId: string;
  readonly clinicId: string | null;
}

/**
 * Writes an event in the transaction of the change that it reports (D-21). Its transaction id is written by the database,
 * for the feed's order.
 */
export async function recordEvent<Type extends EventType>(
  context: TransactionContext,
  { tenantId, clinicId }: EventPlace,
  type: Type,
  data: EventDataOf<Type>,
): Promise<void> {
  await context.db.$executeRaw`
    INSERT INTO event (id, tenant_id, clinic_id, type, data, timestamp)
    VALUES (${context.newId()}::uuid, ${tenantId}, ${clinicId}::uuid, ${type}::event_type,
      ${JSON.stringify(data)}::jsonb, ${context.now()})`;
}
