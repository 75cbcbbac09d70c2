import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import type { EncounterRecord } from './encounters.js';
import { checkSchedule, claimableFrom, expiresAt, resolveSchedule } from './schedule.js';
import { nextState } from './states.js';
import { announce, changeEncounter } from './transitions.js';
import { findRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';

/**
 * Replaces the schedule of an encounter in the queue; omitted fields are cleared.
 * @throws Problem schedule_*, encounter_not_found, clinic_not_permitted, invalid_state
 */
export async function rescheduleEncounter(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['RescheduleEncounterRequest'],
): Promise<EncounterRecord> {
  checkSchedule(body);
  return changeEncounter(context, encounterNo, async (encounter) => {
    nextState(encounter.status, 'reschedule', 'partner');
    const { reviewType, createdAt } = encounter;
    const schedule = resolveSchedule(body, await clinicZone(context, encounter));
    return {
      event: 'reschedule',
      actor: 'partner',
      set: {
        scheduledDay: body.scheduledDay ?? null,
        scheduledTime: body.scheduledTime ?? null,
        scheduledTimeZone: body.scheduledTimeZone ?? null,
        scheduledAt: schedule.scheduledAt,
        claimableFrom: claimableFrom(reviewType, schedule, createdAt),
        expiresAt: expiresAt(schedule, await waitsSince(context, encounter)),
      },
      effects: announce('encounter.rescheduled'),
    };
  });
}

async function clinicZone({ db }: CallerContext, { tenantId, clinicId }: EncounterRecord): Promise<string | null> {
  const where = Prisma.sql`clinic_id = ${clinicId}::uuid AND is_primary`;
  const [primary] = await findRows(db, tenantId, 'ClinicLocation', where);
  return primary?.timezone ?? null;
}

/** When the present wait for a review began: at creation, or with the latest information. */
async function waitsSince({ db }: CallerContext, { tenantId, id, createdAt }: EncounterRecord): Promise<Date> {
  const where = Prisma.sql`encounter_id = ${id}::uuid AND provided_at IS NOT NULL ORDER BY provided_at DESC LIMIT 1`;
  const [latest] = await findRows(db, tenantId, 'EncounterInformation', where);
  return latest?.providedAt ?? createdAt;
}
