import type { EventDataOf, EventType } from '../../contract.js';
import type { NewEvent } from '../transactions/unitOfWork.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** The owner of an event. */
export type EventPlace = Pick<NewEvent, 'tenantId' | 'clinicId'>;

/** Rejects properties that the contract does not list, even when the data is not an object literal. */
type NoOther<Type extends EventType, Data> = Readonly<Record<Exclude<keyof Data, keyof EventDataOf<Type>>, never>>;

/** Records an event of the transaction's change (D-21) with exactly the data of its type. */
export function recordEvent<Type extends EventType, Data extends EventDataOf<Type>>(
  { events, newId, now }: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  { tenantId, clinicId }: EventPlace,
  type: Type,
  data: Data & NoOther<Type, Data>,
): void {
  events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });
}
