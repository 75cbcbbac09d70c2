import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { MAX_PENDING } from '../../src/adapters/cells/otherCell.js';
import { registerCell } from '../../src/runtime/ownCell.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { newPartner } from '../support/factories.js';
import { closeServer, listenOnLoopback } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { untilBlocked } from '../support/lockWaits.js';
import { loginBody } from '../support/tokens.js';

const folder = temporaryFolder();
/** Failed requests for a client from an address in a minute. */
const FAILURES = 2;
let [a, b] = [] as unknown as [Harness, Harness];
beforeAll(async () => {
  const newCell = async (CELL: string): Promise<Harness> => {
    const limits = { RATE_LIMIT: 'on', RATE_LIMIT_TOKEN_FAILURES: String(FAILURES), TRUSTED_PROXIES: '1' };
    const harness = await startHarness({ environment: { CELL, DATA_DIR: folder(), ...limits } });
    await registerCell(harness.domain.db, { ...harness.services.config, baseUrl: harness.baseUrl });
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

  describe('with a silent cell', () => {
    const silent = createServer();
    let open = 0;
    let peak = 0;
    silent.on('request', ({ socket }) => {
      open += 1;
      peak = Math.max(peak, open);
      socket.once('close', () => (open -= 1));
    });
    beforeAll(async () => void (await addCell('silent', `http://127.0.0.1:${await listenOnLoopback(silent)}`)));
    afterAll(() => closeServer(silent));

    const clientIdOf = (number: number) => `ces_${'2'.repeat(19)}${String.fromCharCode(97 + (number % 26))}`;
    const request = (number: number, signal: AbortSignal | null = null): Promise<Response> => {
      const body = JSON.stringify(loginBody({ clientId: clientIdOf(number), clientSecret: 'cs_live_x' }));
      const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': `198.51.100.${number}` };
      return fetch(`${a.baseUrl}/oauth/token`, { method: 'POST', headers, body, signal });
    };

    it('ends the request to it when the caller hangs up', async () => {
      const caller = new AbortController();
      const answer = request(1, caller.signal);
      const [passedOn] = await once(silent, 'request');
      caller.abort();
      // The cell itself would wait for 4 s.
      const early = AbortSignal.timeout(3_000);
      await Promise.all([once(passedOn.socket, 'close', { signal: early }), expect(answer).rejects.toThrow('aborted')]);
    });

    it('sends it no request, and logs no failure, when the caller has hung up before', async () => {
      const failures = () => a.logged.filter(({ msg }) => msg === 'request failed').length;
      const before = failures();
      const arrived: Promise<string>[] = [];
      const note = (passedOn: IncomingMessage) => void arrived.push(text(passedOn));
      silent.on('request', note);
      await a.domain.db.prisma.$transaction(
        async (db) => {
          await db.$executeRaw`LOCK TABLE cell`;
          const gone = new Promise((resolve) => {
            a.server.once('request', (_request, response) => response.once('close', resolve));
          });
          const caller = new AbortController();
          const answer = expect(request(2, caller.signal)).rejects.toThrow('aborted');
          await untilBlocked(a);
          caller.abort();
          await Promise.all([answer, gone]);
        },
        { timeout: 20_000 },
      );
      // A later request waits for the silent cell for seconds: by then, the first one would have arrived.
      await request(3);
      expect(await Promise.all(arrived)).toEqual([expect.stringContaining(clientIdOf(3))]);
      silent.off('request', note);
      // Only the later caller waited for a response.
      expect(failures()).toBe(before + 1);
    });

    it('answers 503 to all callers, and keeps only a bounded number of connections to it', async () => {
      silent.on('request', () => open === MAX_PENDING && setImmediate(collectGarbage));
      const callers = Array.from({ length: MAX_PENDING + 10 }, (_, index) =>
        request(index + 4, AbortSignal.timeout(20_000)),
      );
      const statuses = (await Promise.all(callers)).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(peak).toBeLessThanOrEqual(MAX_PENDING);
    });
  });
});
