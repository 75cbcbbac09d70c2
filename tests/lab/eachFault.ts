import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './faults.js';
import { isAnswer, TIMEOUT_MS, type Attempt } from './history.js';
import { randomOf } from './random.js';
import type { World } from './world.js';

/** The observations of callers during a fault. */
export interface Row {
  readonly name: string;
  readonly cells: readonly (string | number)[];
  /** Observations that the fault does not allow. */
  readonly wrong: readonly string[];
}

export const titles = ['fault', 'requests', '503', 'no response', 'slowest', 'longest gap', 'healed after', 'memory'];

/** Milliseconds of load before and after a fault. */
const CALM_MS = 3_000;
/** Milliseconds after a fault within which a request must be answered again ({@link isAnswer}). */
const HEALED_MS = 10_000;
/** The share of 503 that a busy machine may have without a fault. */
const BUSY = 0.05;
const GATEWAY = [502, 504];

/** Whether the connection ended, or haproxy answered for a server that ended; not whether the caller gave up. */
const isCut = ({ status, took }: Attempt): boolean => (status === null ? took < TIMEOUT_MS : GATEWAY.includes(status));
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Breaks one thing for a while, and looks at the responses to requests that were sent meanwhile. */
export async function suffer(world: World, fault: Fault, lastsMs: number): Promise<Row> {
  const begun = Date.now();
  await delay(CALM_MS);
  const end = await fault.begin(world, randomOf(begun));
  await delay(lastsMs);
  await end();
  const ended = Date.now();
  const since = (moment: number): Attempt[] =>
    world.history.intents.flatMap(({ attempts }) => attempts.filter(({ at }) => at >= moment));
  const healed = (): Attempt | undefined => since(ended).find((attempt) => isAnswer(attempt));
  while (!healed() && Date.now() < ended + HEALED_MS) await delay(50);
  await delay(CALM_MS);
  const seen = since(begun).filter(({ took }) => took > 0);
  const cut = seen.filter(isCut);
  const unavailable = seen.filter((attempt) => attempt.status === 503);
  const answered = seen.filter(isAnswer).map(({ at, took }) => at + took);
  const times = [begun, ...answered.sort((one, other) => one - other), Date.now()];
  const gaps = times.map((time, index) => time - (times[index - 1] ?? time));
  const healedAfter = (healed()?.at ?? Infinity) - ended;
  const { name, callersSee, stopsServers } = fault;
  // Without haproxy, callers themselves send requests to a server that stops.
  const isBare = stopsServers && world.addresses.length === world.entrances.length;
  const mayBeUnavailable = callersSee !== 'nothing' || isBare;
  const mayBeCut = callersSee === '503 or no response' || isBare;
  const wrong = [
    ...(healedAfter > HEALED_MS ? ['no request was answered afterwards'] : []),
    ...(mayBeCut || cut.length === 0 ? [] : [`${cut.length} requests had no response of the service`]),
    ...(mayBeUnavailable || unavailable.length <= BUSY * seen.length ? [] : [`${unavailable.length} requests got 503`]),
    // Ignore haproxy's own 503 while no server is ready: it has neither JSON nor Retry-After.
    ...unavailable
      .filter(({ body, retryAfter }) => body !== undefined && retryAfter !== '5')
      .map(({ requestId }) => `${requestId}: 503 without "Retry-After: 5"`),
  ];
  const counts = [seen.length, unavailable.length, cut.length];
  const durations = [Math.max(...seen.map(({ took }) => took)), Math.max(...gaps), healedAfter].map(seconds);
  return { name, cells: [...counts, ...durations, `${Math.max(...world.memory())} MiB`], wrong };
}
