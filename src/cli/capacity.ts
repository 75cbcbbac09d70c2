import type { Command } from '@commander-js/extra-typings';
import { readConfig } from '../config.js';
import { addCommand } from './command.js';
import { print, table, wholeNumber } from './output.js';
import type { CliIo } from './cliIo.js';

/** Measured by `make bench-capacity`, which compares its prediction with a load (scripts/bench/RESULTS-capacity.md). */
export const MEASURED = {
  /** Costs of an encounter with its patient, document, review, paid order, delivery, and one webhook per event. */
  encounter: { requests: 12, serverMs: 30, databaseMs: 24, walBytes: 85_000, writes: 20 },
  read: { requests: 1, serverMs: 1.2, databaseMs: 0.75, walBytes: 500, writes: 0.6 },
  /** Bytes stored per encounter, including indexes; `audit`: per request. */
  bytes: { records: 6_600, events: 8_800, keys: 16_300, audit: 340 },
};
/** Share of the cores that may be busy: above it, responses would wait for each other. */
const SERVER_USE = 0.6;
const DATABASE_USE = 0.5;
/** Servers in addition to those needed, because one may be stopped. */
const SPARE_SERVERS = 1;
/** Connections besides the pool: per server for jobs and webhooks; reserved for commands, backups and operators. */
const OTHER_CONNECTIONS = 13;
const RESERVED_CONNECTIONS = 20;
/** For how many days events, and responses of idempotency keys, are kept. */
const EVENT_DAYS = 30;
const KEY_DAYS = 1;
/** Factor for disk space: updates need space until the next vacuum, and rebuilding an index needs a copy. */
const DISK_MARGIN = 1.5;
const DAY = 86_400;
const YEAR = 365;

export interface Load {
  readonly encountersPerDay: number;
  readonly readsPerEncounter: number;
  /** The load in the busiest second, relative to the mean of a day. */
  readonly peakFactor: number;
  readonly retentionDays: number;
  /** The value of DATABASE_POOL_SIZE. */
  readonly poolSize: number;
}

/** The resources that a load needs. Cores and rates are those of the busiest second. */
export function capacityOf({ encountersPerDay, readsPerEncounter, peakFactor, retentionDays, poolSize }: Load) {
  const { encounter, read, bytes } = MEASURED;
  const perDay = (name: keyof typeof read): number =>
    encountersPerDay * (encounter[name] + readsPerEncounter * read[name]);
  const atPeak = (name: keyof typeof read): number => (perDay(name) * peakFactor) / DAY;
  const [busyServerCores, busyDatabaseCores] = [atPeak('serverMs') / 1_000, atPeak('databaseMs') / 1_000];
  const servers = Math.ceil(busyServerCores / SERVER_USE) + SPARE_SERVERS;
  const connections = servers * (poolSize + OTHER_CONNECTIONS);
  const disk = {
    records: encountersPerDay * Math.min(retentionDays, YEAR) * bytes.records,
    events: encountersPerDay * EVENT_DAYS * bytes.events,
    keys: encountersPerDay * KEY_DAYS * bytes.keys,
    audit: perDay('requests') * YEAR * bytes.audit,
  };
  return {
    requestsPerSecond: atPeak('requests'),
    busyServerCores,
    servers,
    busyDatabaseCores,
    databaseCores: Math.ceil(busyDatabaseCores / DATABASE_USE),
    connections,
    maxConnections: connections + RESERVED_CONNECTIONS,
    disk,
    diskBytes: (disk.records + disk.events + disk.keys + disk.audit) * DISK_MARGIN,
    walBytesPerDay: perDay('walBytes'),
    writesPerSecond: atPeak('writes'),
  };
}

/** Rounds to three significant digits. Only for rates and bytes: a rounded count could be less than needed. */
const figure = (value: number): string => String(Number(value.toPrecision(3)));
const ofBytes = (value: number): string => (value < 1e9 ? `${figure(value / 1e6)} MB` : `${figure(value / 1e9)} GB`);

function told(load: Load): string {
  const result = capacityOf(load);
  const { encounter, read, bytes } = MEASURED;
  const reads = load.readsPerEncounter;
  const perEncounter = (name: keyof typeof read, unit: string): string =>
    `${encounter[name]}${unit} per encounter, ${read[name]}${unit} per read`;
  const { disk } = result;
  const rows = [
    [
      'requests per second',
      figure(result.requestsPerSecond),
      `${encounter.requests} + ${reads} reads; peak factor ${load.peakFactor}`,
    ],
    ['busy cores of servers', figure(result.busyServerCores), perEncounter('serverMs', ' ms')],
    ['servers', String(result.servers), `one core each, ${SERVER_USE * 100} % busy; ${SPARE_SERVERS} may be away`],
    ['busy cores of PostgreSQL', figure(result.busyDatabaseCores), perEncounter('databaseMs', ' ms')],
    ['cores of PostgreSQL', String(result.databaseCores), `${DATABASE_USE * 100} % busy`],
    [
      'connections',
      String(result.connections),
      `servers × (DATABASE_POOL_SIZE ${load.poolSize} + ${OTHER_CONNECTIONS})`,
    ],
    ['max_connections', String(result.maxConnections), `${RESERVED_CONNECTIONS} for commands, backups and you`],
    ['writes per second', figure(result.writesPerSecond), perEncounter('writes', '')],
    ['WAL per day', ofBytes(result.walBytesPerDay), perEncounter('walBytes', ' bytes')],
    [
      'records',
      ofBytes(disk.records),
      `${bytes.records} bytes per encounter, for ${Math.min(load.retentionDays, YEAR)} days`,
    ],
    ['events, webhooks', ofBytes(disk.events), `${bytes.events} bytes per encounter, for ${EVENT_DAYS} days`],
    ['stored responses', ofBytes(disk.keys), `${bytes.keys} bytes per encounter, for ${KEY_DAYS} day`],
    ['audit', ofBytes(disk.audit), `${bytes.audit} bytes per request, for a year`],
    ['disk after a year', ofBytes(result.diskBytes), `the sum × ${DISK_MARGIN}, without WAL`],
  ];
  return table(['RESOURCE', 'FIGURE', 'FROM'], rows);
}

const NOTES = `
The documents themselves are in the object store: one per encounter here, of the size that your partners send.`;

export function addCapacityCommand(program: Command, terminal: CliIo): void {
  const examples = ['--encounters-per-day 20000', '--encounters-per-day 20000 --reads-per-encounter 30 --json'];
  addCommand(program, 'capacity', 'estimate servers, PostgreSQL and disk for a load, without a database', examples, {
    notes: NOTES,
  })
    .requiredOption('--encounters-per-day <number>', 'new encounters', wholeNumber(1, 100_000_000))
    .option(
      '--reads-per-encounter <number>',
      'requests that read, besides those of the review',
      wholeNumber(0, 10_000),
      10,
    )
    .option('--peak-factor <number>', 'the busiest second, relative to the mean of 24 hours', wholeNumber(1, 100), 5)
    .option(
      '--retention-days <number>',
      'days that ended encounters are kept; the estimate ends after a year',
      wholeNumber(30, 36_500),
      YEAR,
    )
    .action(({ json, ...load }) => {
      const { databasePoolSize: poolSize } = readConfig(terminal.environment);
      const full = { ...load, poolSize };
      print(terminal, json, { ...capacityOf(full), measured: MEASURED }, told(full));
    });
}
