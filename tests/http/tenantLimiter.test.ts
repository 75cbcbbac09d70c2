import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { openTenantLimiter } from '../../src/http/endpoint/tenantLimiter.js';
import { cast } from '../support/cast.js';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { startFileHost } from '../support/fileHost.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { openConnection, requestBytes } from '../support/rawHttp.js';
import { expectProblem } from '../support/refusals.js';
import { newSandbox, simulate } from '../support/sandbox.js';

const POOL = 4;
const CALLERS = 16;
const READERS = 4;

const files = await startFileHost();
const harness = await startHarness({
  environment: { DATABASE_POOL_SIZE: String(POOL), DOCUMENT_FETCH_ALLOWED_HOSTS: files.host },
});
const [sandbox, live] = [await newSandbox(harness), await newPartner(harness)];
afterAll(async () => {
  await harness.close();
  await files.close();
});

const listProducts = ({ token }: Partner): Promise<Answer> =>
  call(harness, 'GET /tenants/products?limit=100', { token });
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const statuses = (answers: readonly Answer[]): number[] => [...new Set(answers.map(({ status }) => status))].sort();

/** Does the work while a lock delays this many requests of the sandbox; returns their answers. */
async function whileWaiting(count: number, work: (waiting: Promise<Answer>[]) => Promise<void>): Promise<Answer[]> {
  const waiting = await harness.domain.db.prisma.$transaction(
    async (db) => {
      await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`sandbox ${sandbox.tenantId}`}, 0))`;
      const { encounter_id } = cast.encounters.waiting;
      const answers = times(count, () => simulate(harness, sandbox, encounter_id, { outcome: 'claim' }));
      await work(answers);
      return answers;
    },
    { timeout: 20_000 },
  );
  return Promise.all(waiting);
}

describe('a tenant with many callers', () => {
  it('does not delay another tenant, even while a lock delays all its requests', async () => {
    const answers = await whileWaiting(CALLERS, async () => {
      // The lock holds one connection and the sandbox another; the other two are free.
      expect(statuses(await Promise.all(times(CALLERS, () => listProducts(live))))).toEqual([200]);
    });
    expect(statuses(answers)).toEqual([200]);
  });
});

it('a large page is read while another one waits only if it is of another tenant, and does not delay small pages', async () => {
  const { prisma } = harness.domain.db;
  const clinics = (partner: Partner, limit: number) =>
    call(harness, `GET /clinics?limit=${limit}`, { token: partner.token });
  const answered: string[] = [];
  const { pages, large } = await prisma.$transaction(async (db) => {
    await db.$executeRaw`LOCK TABLE product IN ACCESS EXCLUSIVE MODE`;
    const waiting = times(CALLERS, () => listProducts(live));
    const next = clinics(live, 21).finally(() => answered.push('large'));
    expect((await clinics(live, 20)).status).toBe(200);
    expect((await clinics(sandbox, 21)).status).toBe(200);
    expect(answered).toEqual([]);
    return { pages: waiting, large: next };
  });
  expect(statuses(await Promise.all([...pages, large]))).toEqual([200]);
});

it('uploads that wait for their files hold no slot of their tenant', async () => {
  const patient = await newPatient(harness, live);
  const held: ServerResponse[] = [];
  let url = '';
  const allAreHeld = new Promise<void>((resolve) => {
    url = files.serve('/slow.pdf', (_req, res) => {
      if (held.push(res) === POOL) resolve();
    });
  });
  const target = `POST /clients-documents/${patient}/upload-url/intake-forms`;
  const uploads = times(POOL, () => call(harness, target, { token: live.token, json: { url } }));
  await Promise.race([allAreHeld, ...uploads]);
  expect((await listProducts(live)).status).toBe(200);
  for (const res of held) res.writeHead(200, { 'Content-Type': 'application/pdf' }).end('%PDF-1.4\n%%EOF\n');
  expect(statuses(await Promise.all(uploads))).toEqual([200]);
});

describe('a slot', () => {
  /** Starts named work that runs until `end(name)`; `order` lists the names as the work begins. */
  function stage(slots: number, longestWait?: number) {
    const limiter = openTenantLimiter(slots, longestWait);
    const order: string[] = [];
    const ends = new Map<string, () => void>();
    const begin = (name: string): Promise<void> =>
      limiter.run({ tenantId: name.charAt(0), tenantMode: 'live' }, () => {
        order.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      });
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const end = async (name: string): Promise<void> => {
      await settled();
      ends.get(name)?.();
      await settled();
    };
    return { limiter, order, begin, end };
  }

  it('is given to the tenants in turn, and one tenant holds at most half of the slots', async () => {
    const { order, begin, end } = stage(4);
    const begun = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2', 'c2', 'c3'].map(begin);
    await end('none');
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    for (const name of ['a1', 'b1', 'a2', 'c1', 'a3', 'b2', 'c2', 'a4', 'c3', 'a5']) await end(name);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'c2', 'a4', 'c3', 'a5']);
    await Promise.all(begun);
  });

  it('is refused when the wait is too long or too many requests of a tenant wait, but not to another tenant', async () => {
    const { order, begin, end } = stage(2, 1);
    const first = begin('a1');
    await expect(begin('a2')).rejects.toMatchObject({ code: 'dependency_unavailable' });
    const waiting = times(200, (index) => begin(`a${index + 3}`).catch(() => 'late'));
    await expect(begin('a999')).rejects.toMatchObject({ code: 'dependency_unavailable' });
    const other = begin('b1');
    expect(await Promise.all(waiting)).toEqual(Array(200).fill('late'));
    await end('a1');
    await end('b1');
    await Promise.all([first, other]);
    expect(order).toEqual(['a1', 'b1']);
  });

  it('is released when its work fails, and while its work runs outside of the slot', async () => {
    const { limiter, order, begin, end } = stage(1);
    const tenant = { tenantId: 'a', tenantMode: 'live' } as const;
    await expect(limiter.run(tenant, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const withoutSlot = limiter.run(tenant, (leave) =>
      leave(async () => {
        const other = begin('b1');
        await end('b1');
        return other;
      }),
    );
    await withoutSlot;
    expect(order).toEqual(['b1']);
    const last = begin('c1');
    await end('c1');
    await last;
    expect(order).toEqual(['b1', 'c1']);
  });
});

it('the service answers 503 with Retry-After when too many requests of a tenant wait', () =>
  whileWaiting(250, async (answers) => {
    const refused = await Promise.race(answers);
    expectProblem(refused, 503, 'dependency_unavailable');
    expect(refused.headers.get('Retry-After')).toBe('5');
    const logged = harness.logged.filter(({ msg }) => msg === 'request failed' || msg === 'tenant overloaded');
    expect(logged).toMatchObject([{ level: 40, refused: 1 }]);
  }));

it('the service answers 503 to a tenant while its clients leave more than 32 MiB of responses unread, and serves another tenant', async () => {
  const { domain } = harness;
  const patient = await newPatient(harness, live);
  // Larger than the system's buffers.
  const metadata = { text: 'x'.repeat(12 * 1024 ** 2) };
  await domain.db.prisma.patient.updateMany({ where: { tenantId: live.tenantId, id: patient }, data: { metadata } });
  const readers = await Promise.all(
    times(READERS, async () => {
      const connection = await openConnection(harness);
      const headers = [['Authorization', `Bearer ${live.token}`]] as const;
      connection.socket.pause();
      connection.socket.write(requestBytes({ target: `/clients/${patient}`, headers }));
      return connection;
    }),
  );
  let last = await listProducts(live);
  for (; last.status === 200; last = await listProducts(live)) await delay(20);
  expectProblem(last, 503, 'dependency_unavailable');
  expect((await listProducts(sandbox)).status).toBe(200);
  for (const { socket } of readers) socket.destroy();
  while ((await listProducts(live)).status === 503) await delay(20);
  expect((await listProducts(live)).status).toBe(200);
});
