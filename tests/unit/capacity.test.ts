import { Command } from '@commander-js/extra-typings';
import { addCapacityCommand, capacityOf, MEASURED, type Load } from '../../src/cli/capacity.js';

const SECONDS_PER_DAY = 86_400;
const load = (changes: Partial<Load> = {}): Load => ({
  ...{ encountersPerDay: SECONDS_PER_DAY, readsPerEncounter: 0, peakFactor: 1, retentionDays: 365, poolSize: 10 },
  ...changes,
});
const { encounter, read, bytes } = MEASURED;

describe('capacityOf', () => {
  it('requires the measured cores per encounter, plus those of its reads', () => {
    expect(capacityOf(load()).busyServerCores).toBeCloseTo(encounter.serverMs / 1_000);
    const { busyDatabaseCores, requestsPerSecond } = capacityOf(load({ readsPerEncounter: 10 }));
    expect(busyDatabaseCores).toBeCloseTo((encounter.databaseMs + 10 * read.databaseMs) / 1_000);
    expect(requestsPerSecond).toBeCloseTo(encounter.requests + 10);
  });

  it('multiplies cores and writes by the peak factor, but not disk and WAL per day', () => {
    const [mean, peak] = [capacityOf(load()), capacityOf(load({ peakFactor: 5 }))];
    expect(peak.busyServerCores).toBeCloseTo(5 * mean.busyServerCores);
    expect(peak.writesPerSecond).toBeCloseTo(5 * mean.writesPerSecond);
    expect([peak.disk, peak.walBytesPerDay]).toEqual([mean.disk, mean.walBytesPerDay]);
  });

  it('plans a spare server even for a small load, and the connections of all servers', () => {
    const { servers, connections, maxConnections } = capacityOf(load({ encountersPerDay: 1, poolSize: 20 }));
    expect([servers, connections]).toEqual([2, 2 * (20 + 13)]);
    expect(maxConnections).toBeGreaterThan(connections);
  });

  it('counts records until their retention ends, and the audit for a whole year', () => {
    const { disk } = capacityOf(load({ encountersPerDay: 100, readsPerEncounter: 10, retentionDays: 30 }));
    expect(disk.records).toBeCloseTo(100 * 30 * bytes.records);
    expect(disk.audit).toBeCloseTo(100 * (encounter.requests + 10) * 365 * bytes.audit);
  });
});

it('ces capacity prints connections without rounding, because a rounded max_connections could be too low', () => {
  let printed = '';
  const program = new Command();
  const out = (text: string): void => void (printed += text);
  addCapacityCommand(program, { environment: {}, out, err: out, screen: null });
  program.parse(['capacity', '--encounters-per-day', '12900000'], { from: 'user' });
  expect(printed).toMatch(/^connections +1242 /m);
  expect(printed).toMatch(/^max_connections +1262 /m);
});
