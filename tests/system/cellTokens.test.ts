import { once } from 'node:events';
import { createServer } from 'node:http';
import { registerCell } from '../../src/runtime/ownCell.js';
import { newPartner } from '../support/factories.js';
import { closeServer, listenOnLoopback } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { loginBody } from '../support/tokens.js';

const folder = temporaryFolder();
/** Failed requests for a client from an address in a minute. */
const FAILURES = 2;
let [a, b] = [] as unknown as [Harness, Harness];
beforeAll(async () => {
  const newCell = async (CELL: string): Promise<Harness> => {
    const limits = { RATE_LIMIT: 'on', RATE_LIMIT_TOKEN_FAILURES: String(FAILURES), TRUSTED_PROXIES: '1' };
    const harness = await startHarness({ environment: { CELL, DATA_DIR: folder(), ...limits } });
    await registerCell(harness.domain.db, harness.services.config, harness.baseUrl);
    return harness;
  };
  [a, b] = [await newCell('a'), await newCell('b')];
  await addCell('b', b.baseUrl);
});
afterAll(() => Promise.all([a, b].map(({ close }) => close())));

/** Makes another cell known to `a`. */
const addCell = (name: string, url: string): Promise<unknown> =>
  a.domain.db.everyTenant.run`INSERT INTO cell (name, url, object_store, is_own) VALUES (${name}, ${url}, '', false)`;

describe('POST /oauth/token for a client of another cell', () => {
  it('limits failures by the address of the original caller, which a stranger cannot forge', async () => {
    const { clientId, clientSecret } = await newPartner(b);
    const request = async (cell: Harness, address: string, secret: string, headers = {}): Promise<number> => {
      const json = loginBody({ clientId, clientSecret: secret });
      return (await call(cell, 'POST /oauth/token', { json, headers: { 'X-Forwarded-For': address, ...headers } }))
        .status;
    };
    for (let count = 0; count < FAILURES; count += 1) expect(await request(a, '192.0.2.1', 'wrong')).toBe(401);
    expect(await request(a, '192.0.2.1', clientSecret)).toBe(429);
    // The other cell has counted the same address.
    expect(await request(b, '192.0.2.1', clientSecret)).toBe(429);
    expect(await request(a, '192.0.2.2', clientSecret)).toBe(200);
    const old = await b.services.tokens.signAddress('192.0.2.3', new Date(+b.clock.now - 120_000));
    for (const stated of [old, '192.0.2.3']) {
      expect(await request(b, '192.0.2.1', clientSecret, { 'X-Cells-Address': stated })).toBe(429);
    }
  });

  it('ends the request to a silent cell when the caller hangs up', async () => {
    const silent = createServer();
    await addCell('silent', `http://127.0.0.1:${await listenOnLoopback(silent)}`);
    const { clientId, clientSecret } = await newPartner(b);
    const caller = new AbortController();
    const body = JSON.stringify(loginBody({ clientId: clientId.replace(/.{4}$/, '2222'), clientSecret }));
    const headers = { 'Content-Type': 'application/json' };
    const answer = fetch(`${a.baseUrl}/oauth/token`, { method: 'POST', headers, body, signal: caller.signal });
    const [passedOn] = await once(silent, 'request');
    caller.abort();
    // The cell itself would wait for 4 s.
    const early = AbortSignal.timeout(3_000);
    await Promise.all([once(passedOn.socket, 'close', { signal: early }), expect(answer).rejects.toThrow('aborted')]);
    await closeServer(silent);
  });
});
