import { isDeepStrictEqual } from 'node:util';
import { read } from './collect.js';
import { success, type Json } from './history.js';
import { perform } from './load.js';
import { randomOf } from './random.js';
import type { Scene } from './scene.js';
import type { World } from './world.js';

/** a reset of the sandbox removes its records, and none of another tenant. @returns the anomalies */
export async function resetOnlyItself(world: World, scenes: readonly Scene[]): Promise<string[]> {
  const ordersOf = async (some: readonly Scene[]): Promise<Json[]> => {
    const found: Json[] = [];
    for (const { tenant, orders } of some) {
      const [reader] = tenant.clients;
      for (const order of orders.keys())
        if (reader) found.push(await read(world, reader, 'getOrder', `/orders/${order}`));
    }
    return found;
  };
  const others = scenes.filter(({ tenant }) => tenant.mode === 'live');
  const sandbox = scenes.find(({ tenant }) => tenant.mode === 'sandbox');
  const [client] = sandbox?.tenant.clients ?? [];
  if (!sandbox || !client) return [];
  const before = await ordersOf(others);
  const send = (operation: string, method: string, path: string) =>
    perform(world, randomOf(1), client, { operation, method, path });
  const { attempts } = await send('resetSandbox', 'POST', '/sandbox/reset');
  const left: string[] = [];
  for (const order of sandbox.orders.keys()) {
    if (success(await send('getOrder', 'GET', `/orders/${order}`))) left.push(order);
  }
  return [
    ...(attempts[0]?.status === 204 ? [] : [`the reset of the sandbox: ${attempts[0]?.status}`]),
    ...left.map((order) => `the reset of the sandbox left ${order}`),
    ...(isDeepStrictEqual(await ordersOf(others), before) ? [] : ['a reset of the sandbox changed another tenant']),
  ];
}
