import type { Operation } from './operation.js';
import { deaSchedules } from '../domain/catalog/deaSchedules.js';

/** GET /reference/dea-schedules: the values of `deaScheduleId` that have a meaning. */
export const listDeaSchedules: Operation<'listDeaSchedules'> = async () => ({
  status: 200,
  body: { data: [...deaSchedules] },
});
