import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { version } from '../../src/packageRoot.js';
import { withoutDatabase } from '../support/refusals.js';

const harness = await openHarness();
const alive = { status: 'ok', service: 'clinical-encounter-service', version };

describe('getLiveness 200', () => {
  it('answers HEAD without a body', async () => {
    const { status, text, headers } = await call(harness, 'HEAD /healthz');
    expect([status, text, headers.get('Content-Length')]).toEqual([200, '', String(JSON.stringify(alive).length)]);
    expect((await call(harness, 'HEAD /readyz')).status).toBe(200);
    expect((await call(harness, 'HEAD /clinics')).status).toBe(405);
  });

  it('answers while the database is down, because a restart would not help', async () => {
    const { status, body } = await withoutDatabase(harness, () => call(harness, 'GET /healthz'));
    expect([status, body]).toEqual([200, alive]);
  });
});
