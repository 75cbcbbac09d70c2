import { setTimeout as delay } from 'node:timers/promises';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { recordPaid } from '../support/events.js';
import { newToken } from '../support/factories.js';
import { useStage } from '../support/fixtures.js';
import { call } from '../support/http.js';
import { startReceiver, verified, type Received } from '../support/receiver.js';
import { startServer, type ServerProcess } from '../support/serverProcess.js';
import { newEndpoint } from '../support/webhooks.js';
import { figure, isFull } from './faults.js';

const EVENTS = isFull ? 10_000 : 200;
const KILLS = isFull ? 5 : 1;

const stage = useStage();

it('every event reaches every endpoint with a valid signature although receivers fail, secrets change and servers are killed', async () => {
  const paths = ['/one', '/two', '/three'];
  const secrets = new Map<string, string[]>();
  const accepted = new Map(paths.map((path) => [path, new Set<unknown>()]));
  // Refuses almost a third of the webhooks, or cuts the connection.
  const unverified: Received[] = [];
  const receiver = await startReceiver((webhook, response) => {
    const { path, headers } = webhook;
    // Verifies at once, because a signature is valid for five minutes.
    if (!isVerified(webhook, secrets.get(path) ?? [])) unverified.push(webhook);
    const luck = Math.random();
    if (luck < 0.05) return response.destroy();
    if (luck < 0.3) return response.writeHead(500).end();
    accepted.get(path)?.add(headers['webhook-id']);
    return response.writeHead(204).end();
  });
  const settings = { LOG_LEVEL: 'info', RATE_LIMIT: 'off', WEBHOOK_ALLOWED_HOSTS: receiver.host };
  const start = (): ServerProcess => startServer({ ...stage.environment, ...settings });
  let servers = [start()];
  await servers[0]?.started;
  servers.push(start());
  const context = systemContext(stage.db);
  const { id: tenantId } = await createTenant(context, { name: 'Lakeside', mode: 'sandbox' });
  const credentials = await createApiClient(context, { tenant: tenantId, preset: 'partner' });
  const baseUrlOf = async (server = servers[0]): Promise<{ baseUrl: string }> => ({
    baseUrl: (await server?.started) ?? '',
  });
  const token = await newToken(await baseUrlOf(), credentials);
  const endpoints = [];
  for (const path of paths) {
    const endpoint = await newEndpoint(await baseUrlOf(), { token }, { url: receiver.url(path) });
    endpoints.push({ ...endpoint, path });
    secrets.set(path, [endpoint.secret]);
  }

  const missing = (): number => [...accepted.values()].reduce((sum, ids) => sum + EVENTS - ids.size, 0);
  const began = performance.now();
  let recorded = 0;
  let kills = 0;
  while (recorded < EVENTS || missing() > 0) {
    if (performance.now() - began > (isFull ? 600_000 : 80_000)) throw new Error(`${missing()} are missing`);
    const count = Math.min(EVENTS / 20, EVENTS - recorded);
    if (count > 0) await recordPaid({ domain: context }, { tenantId, clinicId: null }, 'ORD-101000', count);
    recorded += count;
    if (kills < KILLS && recorded >= ((kills + 1) * EVENTS) / (KILLS + 1)) {
      kills += 1;
      servers.forEach(({ child }) => child.kill('SIGKILL'));
      await Promise.all(servers.map(({ ended }) => ended));
      // Ends the leases of the killed servers.
      await stage.db.prisma.$executeRaw`UPDATE webhook_endpoint SET busy_until = now() WHERE busy_until IS NOT NULL`;
      servers = [start(), start()];
      for (const { id, path } of endpoints) {
        const rotated = await call(await baseUrlOf(), `POST /webhook-endpoints/${id}/rotate-secret`, { token });
        secrets.get(path)?.push(rotated.body.secret);
      }
    }
    // Moves the clock of the sandbox, so that failed deliveries are due again.
    const { prisma } = stage.db;
    await prisma.$executeRaw`UPDATE tenant SET clock_offset_ms = clock_offset_ms + 3600000 WHERE id = ${tenantId}`;
    await delay(250);
  }
  figure('events × endpoints, webhooks received', `${EVENTS} × 3, ${receiver.received.length}`);
  figure('seconds', ((performance.now() - began) / 1000).toFixed(0));

  const feed = await stage.db.prisma.event.findMany({ where: { tenantId, type: 'order_paid' }, select: { id: true } });
  for (const path of paths) expect(accepted.get(path)).toEqual(new Set(feed.map(({ id }) => id)));
  expect(unverified).toEqual([]);
  await receiver.close();
}, 700_000);

function isVerified(webhook: Received, secrets: readonly string[]): boolean {
  return secrets.some((secret) => {
    try {
      return verified(webhook, secret);
    } catch {
      return false;
    }
  });
}
