import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openObjectStore } from '../../src/adapters/objects/openObjectStore.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { createSandbox } from '../../src/domain/sandbox/reset.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { newToken, patientBody } from '../support/factories.js';
import { useStage } from '../support/fixtures.js';
import { call } from '../support/http.js';
import { startServer } from '../support/serverProcess.js';
import { figure, isFull, percentile, tally } from './faults.js';

/** Requests of the measured tenant. */
const REQUESTS = isFull ? 300 : 50;

const stage = useStage();

it('requests of one tenant all succeed while 40 callers use the sandbox of another tenant', async () => {
  const baseUrl = await startServer(stage.environment).started;
  const context = systemContext(stage.db);
  const store = await openObjectStore({ dataDir: stage.dataDir, baseUrl: () => baseUrl, store: { kind: 'file' } });
  const sandbox = await createSandbox(context, { name: 'Busy' }, store);
  const live = await createTenant(context, { name: 'Quiet', mode: 'live' });
  const client = (tenant: string, requestsPerMinute?: number) =>
    createApiClient(context, { tenant, preset: 'partner', requestsPerMinute });
  const [noisy, quiet] = [await client(sandbox.id), await client(live.id, 100_000)];
  const token = await newToken({ baseUrl }, quiet);
  const { body } = await call({ baseUrl }, 'POST /clients', { token, json: patientBody() });

  /** Sends one request after the other; returns the 95th percentile of their milliseconds. */
  const measure = async (what: string): Promise<number> => {
    const times: number[] = [];
    const statuses: number[] = [];
    for (let count = 0; count < REQUESTS; count += 1) {
      const begun = performance.now();
      statuses.push((await call({ baseUrl }, `GET /clients/${body.user_id}`, { token })).status);
      times.push(performance.now() - begun);
    }
    expect(tally(statuses)).toEqual({ 200: REQUESTS });
    const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
    figure(what, `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
    return p95;
  };

  await measure('warming up');
  const alone = await measure('alone');
  const path = fileURLToPath(new URL('noisyCallers.ts', import.meta.url));
  const callers = fork(path, [baseUrl, noisy.clientId, noisy.clientSecret], { execArgv: ['--import', 'tsx'] });
  await once(callers, 'message');
  const busy = await measure('beside 40 callers of a sandbox');
  callers.send('stop');
  const [seen] = (await once(callers, 'message')) as [Record<string, number>];
  figure('statuses of the 40 callers', JSON.stringify(seen));
  figure('p95 beside 40 callers over p95 alone', (busy / alone).toFixed(1));
  expect(Object.keys(seen).filter((status) => !['200', '204', '409', '429', '503'].includes(status))).toEqual([]);
}, 120_000);
