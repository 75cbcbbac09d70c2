import type { EventDataOf, EventType } from '../../contract.js';
import type { NewEvent } from '../transactions/unitOfWork.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** The tenant and clinic to which an event belongs. */
export type EventPlace = Pick<NewEvent, 'tenantId' | 'clinicId'>;

/** Rejects properties that the contract does not list, even if the data is in a variable. */
type NoOther<Type extends EventType, Data> = Readonly<Record<Exclude<keyof Data, keyof EventDataOf<Type>>, never>>;

/** Records an event to be written with the transaction (D-21); its data is exactly that of its type. */
export function recordEvent<Type extends EventType, Data extends EventDataOf<Type>>(
  { events, newId, now }: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  { tenantId, clinicId }: EventPlace,
  type: Type,
  data: Data & NoOther<Type, Data>,
): void {
  events.push({ id: newId(), tenantId, clinicId, type, data, timestamp: now() });
}
