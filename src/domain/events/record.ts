import type { EventDataOf, EventType } from '../../contract.js';
import type { EventDraft } from '../transactions/changes.js';
import type { NewEvent } from '../transactions/unitOfWork.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** The tenant and clinic of an event and, if it has them, its pharmacies and the only client that sees it. */
export type EventPlace = Pick<NewEvent, 'tenantId' | 'clinicId'> &
  Partial<Pick<NewEvent, 'pharmacyIds' | 'apiClientId'>>;

/** Rejects properties that the contract does not list, even if the data is in a variable. */
type NoOther<Type extends EventType, Data> = Readonly<Record<Exclude<keyof Data, keyof EventDataOf<Type>>, never>>;

/** An event of a decision; its data is exactly that of its type. */
export function told<Type extends EventType, Data extends EventDataOf<Type>>(
  { tenantId, clinicId, pharmacyIds = [], apiClientId = null }: EventPlace,
  type: Type,
  data: Data & NoOther<Type, Data>,
): EventDraft {
  return { tenantId, clinicId, pharmacyIds, apiClientId, type, data };
}

/** Records an event to be written with the transaction (D-21). */
export function recordEvent<Type extends EventType, Data extends EventDataOf<Type>>(
  { events, newId, now }: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  place: EventPlace,
  type: Type,
  data: Data & NoOther<Type, Data>,
): void {
  events.push({ id: newId(), timestamp: now(), ...told(place, type, data) });
}
