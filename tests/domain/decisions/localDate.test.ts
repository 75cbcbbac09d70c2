import { localDate } from '../../../src/domain/transactions/instant.js';

it.each([
  ['Asia/Kathmandu', '2026-11-20T18:14:59.999Z', '2026-11-20T18:15:00.000Z'],
  ['Australia/Eucla', '2026-11-20T15:14:59.999Z', '2026-11-20T15:15:00.000Z'],
  ['America/Chicago', '2026-11-21T05:59:59.999Z', '2026-11-21T06:00:00.000Z'],
  ['UTC', '2026-11-20T23:59:59.999Z', '2026-11-21T00:00:00.000Z'],
])('the date in %s changes exactly at its midnight', (zone, before, after) => {
  expect([before, after, before].map((time) => localDate(new Date(time), zone))).toEqual([
    '2026-11-20',
    '2026-11-21',
    '2026-11-20',
  ]);
});
