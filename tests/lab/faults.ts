import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Proxy } from '../support/proxy.js';
import { randomOf, type Random } from './random.js';
import type { World } from './world.js';

/** Ends a fault: everything works again when it resolves. */
type End = () => unknown;

/** Something around the service that breaks. */
export interface Fault {
  readonly name: string;
  /** Failures that callers may see, beside the answers of the rules: 503 with Retry-After, or a connection that ends. */
  readonly callersSee: 'nothing' | '503' | '503 or no response';
  /** Whether the fault stops servers, which callers do not notice behind haproxy. */
  readonly stopsServers?: boolean;
  /** Whether this world has what breaks. */
  isPossible?(world: World): boolean;
  begin(world: World, random: Random): Promise<End> | End;
}

const CLOCK_SKEW_MS = 600_000;
/** Milliseconds between two ends of all sessions. */
const SESSIONS_MS = 200;
const SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'clinical-encounter%' AND pid <> pg_backend_pid()`;

const nothing = (): void => undefined;
const replaceAll = async (world: World, signal: NodeJS.Signals): Promise<End> => {
  for (const index of world.entrances.keys()) await world.replace(index, signal);
  return nothing;
};
const watch = (proxies: readonly Proxy[], watching: Parameters<Proxy['watch']>[0]): End => {
  for (const proxy of proxies) proxy.watch(watching);
  return () => proxies.forEach((proxy) => proxy.watch(null));
};
/** Resets some of the connections at a random byte of a chunk. */
const cutSome = (random: Random, probability: number) => (chunk: Buffer) =>
  random.chance(probability) ? random.int(chunk.length) : null;
/** Resets some connections at COMMIT: transactions send the word as text, and PostgreSQL's answer repeats it. */
const cutCommits = (random: Random) => (chunk: Buffer, from: 'client' | 'server') => {
  const at = chunk.indexOf(from === 'client' ? 'COMMIT\0' : 'COMMIT\0Z');
  return at >= 0 && random.chance(0.1) ? Math.max(0, at - 5) : null;
};
const respondError = (socket: Socket): void => {
  const answer = 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  socket.once('data', () => socket.resume().end(answer));
};
const hasStandby = ({ cluster }: World): boolean => cluster.postgres.replication !== undefined;

/** Every fault apart from those of Citus, in the order of `make lab`. */
export const faults: readonly Fault[] = [
  { name: 'none', callersSee: 'nothing', begin: () => nothing },
  {
    name: 'servers restarted',
    callersSee: 'nothing',
    stopsServers: true,
    begin: (world) => replaceAll(world, 'SIGTERM'),
  },
  { name: 'servers killed', callersSee: '503 or no response', begin: (world) => replaceAll(world, 'SIGKILL') },
  {
    name: 'clock of a server ahead',
    callersSee: 'nothing',
    stopsServers: true,
    async begin(world) {
      await world.replace(0, 'SIGTERM', CLOCK_SKEW_MS);
      return () => world.replace(0, 'SIGTERM');
    },
  },
  {
    name: 'PostgreSQL killed',
    callersSee: '503',
    async begin({ cluster: { postgres } }) {
      await postgres.signal('SIGKILL');
      return () => postgres.restart();
    },
  },
  {
    name: 'PostgreSQL hangs',
    callersSee: '503',
    async begin({ cluster: { postgres } }) {
      await postgres.signal('SIGSTOP');
      return () => postgres.signal('SIGCONT');
    },
  },
  {
    name: 'primary killed, standby promoted',
    callersSee: '503',
    isPossible: hasStandby,
    async begin({ cluster, ways, databaseUrl }) {
      const { replication } = cluster.postgres;
      await replication?.primary().stop('SIGKILL');
      await replication?.promote();
      for (const way of ways) way.retarget(databaseUrl());
      return () => replication?.rebuildStandby();
    },
  },
  {
    name: 'standby lost',
    callersSee: '503',
    isPossible: hasStandby,
    async begin({ cluster: { postgres } }) {
      await postgres.replication?.standby().stop('SIGKILL');
      return () => postgres.restart();
    },
  },
  {
    name: 'disk full',
    callersSee: '503',
    isPossible: ({ cluster }) => cluster.disk !== undefined,
    async begin({ cluster: { disk, postgres } }) {
      await disk?.fill();
      return async () => {
        await disk?.free();
        await postgres.restart();
      };
    },
  },
  {
    name: 'table locked',
    callersSee: '503',
    async begin({ databaseUrl }) {
      const client = new Client({ connectionString: databaseUrl() });
      await client.connect();
      await client.query('BEGIN');
      await client.query('LOCK TABLE client');
      return () => client.end();
    },
  },
  {
    name: 'sessions ended',
    callersSee: '503',
    begin({ databaseUrl }) {
      const client = new Client({ connectionString: databaseUrl(), application_name: 'lab' });
      const connected = client.connect();
      const timer = setInterval(() => void client.query(SESSIONS).catch(nothing), SESSIONS_MS);
      return async () => {
        clearInterval(timer);
        await connected;
        await client.end();
      };
    },
  },
  {
    name: 'a server cut off from PostgreSQL',
    callersSee: '503',
    begin({ ways: [way] }) {
      way?.hang();
      return () => way?.mend();
    },
  },
  {
    name: 'connections to PostgreSQL reset',
    callersSee: '503',
    begin: ({ ways }, random) => watch(ways, cutSome(random, 0.03)),
  },
  {
    name: 'connections reset at COMMIT',
    callersSee: '503',
    begin: ({ ways }, random) => watch(ways, cutCommits(random)),
  },
  {
    name: 'connections of clients reset',
    callersSee: '503 or no response',
    begin: ({ entrances }, random) => watch(entrances, cutSome(random, 0.05)),
  },
  {
    name: 'latency',
    callersSee: 'nothing',
    begin({ ways, entrances }, random) {
      const slow = (ms: number): void => [...ways, ...entrances].forEach((proxy) => proxy.slow(ms));
      slow(10 + random.int(40));
      return () => slow(0);
    },
  },
  {
    name: 'S3 fails',
    callersSee: '503',
    isPossible: ({ store }) => store !== undefined,
    async begin({ store }, random) {
      const ways = [
        () => store?.cut(),
        () => store?.divert((socket) => socket.resetAndDestroy()),
        () => store?.divert((socket) => socket.once('data', () => socket.destroy())),
        () => store?.divert(respondError),
      ];
      await random.pick(ways)();
      return () => store?.mend();
    },
  },
  {
    name: 'Redis lost',
    callersSee: 'nothing',
    isPossible: ({ counters }) => counters !== undefined,
    async begin({ counters }) {
      await counters?.cut();
      return () => counters?.mend();
    },
  },
  {
    name: 'receivers of webhooks fail',
    callersSee: 'nothing',
    begin({ receiving }) {
      receiving.status = 500;
      return () => (receiving.status = 204);
    },
  },
];

/** Minimum and maximum of responses between two faults. Time instead would give a slow machine more faults. */
const RESPONSES = [40, 120] as const;
const LONGEST_MS = 1_500;

/** Causes one fault after the other, chosen by the seed, until `over`. @returns how often each fault happened */
export async function breakByChance(
  world: World,
  seed: number,
  over: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const random = randomOf(seed, 'faults');
  // A separate generator: the number of chunks depends on time, and must not change the sequence of faults.
  const details = randomOf(seed, 'details');
  const happened: Record<string, number> = {};
  const possible = faults.filter(({ isPossible }) => isPossible?.(world) ?? true);
  for (;;) {
    const next = world.history.answers() + RESPONSES[0] + random.int(RESPONSES[1] - RESPONSES[0]);
    while (world.history.answers() < next && !over.aborted) await delay(50);
    if (over.aborted) return happened;
    const { name, begin } = random.pick(possible);
    happened[name] = (happened[name] ?? 0) + 1;
    const end = await begin(world, details);
    await delay(random.int(LONGEST_MS), undefined, { signal: over }).catch(nothing);
    await end();
  }
}
