import { mock } from 'node:test';
import { feedWatchdog } from '../../src/runtime/watchdog.js';

it('a server reports to the watchdog three times per WATCHDOG_USEC', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  const report = mock.fn();
  feedWatchdog('30000000', report);
  mock.timers.tick(30_000);
  mock.timers.reset();
  expect(report.mock.callCount()).toBe(3);
});
