import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isAnswer, isRead, success, type Client, type Intent, type Json } from './history.js';
import { actions } from './operations.js';
import { randomOf, type Random } from './random.js';
import { learn, newScene, type Scene } from './scene.js';
import type { Plan, Turn } from './turn.js';
import type { World } from './world.js';

export interface LoadOptions {
  readonly seed: number;
  /** Intents of each client; Infinity until the load is told to end. */
  readonly operations: number;
  /** Average of milliseconds between two intents of a client. */
  readonly pauseMs?: number;
}

/** Attempts at one intent before its client gives up, and its outcome stays unknown. */
const ATTEMPTS = 12;
/** Turns in a row without something to do, until a client ends. */
const MAX_IDLE = 200;

/** The path at the receiver that gets every event of a tenant. */
export const hookOf = (tenant: string): string => `/all/${tenant}`;

/** Runs every client to its end, or until `over`. @returns the scene of each tenant */
export async function runLoad(world: World, options: LoadOptions, over: AbortSignal): Promise<readonly Scene[]> {
  const scenes = world.tenants.map(newScene);
  const running = scenes.flatMap((scene, index) => {
    const foreign = scenes[(index + 1) % scenes.length] ?? scene;
    return scene.tenant.clients.map((client) => runClient(world, { scene, foreign, client }, options, over));
  });
  await Promise.all(running);
  return scenes;
}

/** Creates an endpoint of each tenant that receives every event. */
export async function subscribe(world: World): Promise<void> {
  for (const { id, clients } of world.tenants) {
    const [client] = clients;
    if (!client) continue;
    const input = { url: world.receiver.url(hookOf(id)) };
    const plan: Plan = { operation: 'createWebhookEndpoint', method: 'POST', path: '/webhook-endpoints', input };
    await perform(world, randomOf(0), client, plan);
  }
}

async function runClient(
  world: World,
  { scene, foreign, client }: Pick<Turn, 'scene' | 'foreign' | 'client'>,
  { seed, operations, pauseMs = 0 }: LoadOptions,
  over: AbortSignal,
): Promise<void> {
  const random = randomOf(seed, client.name);
  let cursor: string | undefined;
  const send = async (plan: Plan): Promise<Json> => {
    const intent = await perform(world, random, client, plan);
    const done = success(intent);
    if (!done || plan.isForeign) return undefined;
    learn(scene, intent, done.body, done.etag);
    if (plan.operation === 'listEvents') cursor = done.body.next_cursor;
    return done.body;
  };
  const hookUrl = world.receiver.url('/brief');
  for (let sent = 0, idle = 0; sent < operations && idle < MAX_IDLE && !over.aborted;) {
    const turn: Turn = { random, client, scene, foreign, fileUrl: world.fileUrl, hookUrl, cursor, send };
    const plan = await random.weighted(actions[client.role])(turn);
    if (plan) {
      await send(plan);
      [sent, idle] = [sent + 1, 0];
      if (pauseMs > 0) await delay(pauseMs * 2 * Math.random());
    } else {
      // The records that the action needs do not exist yet.
      await delay(25);
      idle += 1;
    }
  }
}

/** Attempts a plan as a careful client does: with one key until there is an answer. */
export async function perform(world: World, random: Random, client: Client, plan: Plan): Promise<Intent> {
  const intent: Intent = { ...plan, client, attempts: [] };
  const attempt = (of = intent) => world.history.attempt(random.pick(world.addresses), of, randomUUID());
  const isRepeatable = isRead(plan) || plan.key !== undefined || plan.method !== 'POST';
  if (plan.key !== undefined && random.chance(0.06)) await Promise.all([attempt(), attempt()]);
  for (let tries = 0; tries < ATTEMPTS && !intent.attempts.some(isAnswer); tries += 1) {
    await attempt();
    if (intent.attempts.some(isAnswer) || isRead(plan) || !isRepeatable) break;
    if (random.chance(0.03)) return intent;
    await delay(50 * (1 + random.int(2 ** Math.min(tries, 4))));
  }
  if (plan.key === undefined || !success(intent)) return intent;
  if (random.chance(0.08)) await attempt();
  const change = random.chance(0.03) && differing(plan);
  if (change) {
    const reuse: Intent = { ...intent, input: { ...plan.input, ...change }, isReuse: true, attempts: [] };
    await attempt(reuse);
  }
  return intent;
}

/** A change of the body that keeps it valid; undefined if the operation has none. */
function differing({ input }: Plan): Json {
  const changes: Json = { amount: '0.01', firstName: 'Other', reviewerRef: 'Dr. Reuse', reference: 'reuse' };
  const [field] = Object.keys(changes).filter((name) => input?.[name] !== undefined);
  return field && { [field]: changes[field] };
}
