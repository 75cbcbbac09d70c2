import { createWebhookSender } from '../../../src/adapters/webhooks/httpSender.js';
import { nextAttempt, wishOf } from '../../../src/domain/webhooks/retries.js';
import { endless } from '../../support/downloads.js';
import { startFileHost, type FileHost } from '../../support/fileHost.js';
import { startRawServer } from '../../support/rawServer.js';
import { until } from '../../support/until.js';

const host = await startFileHost();
afterEach(() => until(() => host.openConnections() === 0));
afterAll(() => host.close());

const send = (url: string, { allowedHosts = [host.host], timeout = 10_000 } = {}) =>
  createWebhookSender({ allowedHosts, timeout })(url, { 'webhook-id': 'one' }, '{}');

it('the sender of webhooks judges a response by its status, even with an endless or stalled body', async () => {
  const cases: [string, Parameters<FileHost['serve']>[1], object][] = [
    ['/ok', (_req, res) => res.writeHead(204).end(), { status: 204, retryAfter: null }],
    ['/later', (_req, res) => res.writeHead(429, { 'retry-after': '60' }).end('x'), { status: 429, retryAfter: '60' }],
    ['/endless', endless, { status: 200, retryAfter: null }],
    ['/redirect', (_req, res) => res.writeHead(307, { location: '/ok' }).end(), { status: 307, retryAfter: null }],
  ];
  for (const [path, answer, sent] of cases) expect(await send(host.serve(path, answer))).toEqual(sent);
  expect(host.requests.map(({ path }) => path)).toEqual(cases.map(([path]) => path));
  const stalled = host.serve('/stalled', (_req, res) => res.writeHead(200).write('a'));
  expect(await send(stalled, { timeout: 2_000 })).toEqual({ status: 200, retryAfter: null });
});

it('the sender of webhooks reports a missing or malformed response as timeout or unreachable', async () => {
  const [closed, broken] = [await startRawServer('', false), await startRawServer('no HTTP\r\n\r\n', false)];
  closed.close();
  for (const server of [closed, broken]) {
    const answer = await send(`http://${server.host}/`, { allowedHosts: [server.host] });
    expect(answer).toEqual({ error: 'unreachable' });
  }
  broken.close();
  const silent = host.serve('/silent', () => undefined);
  expect(await send(silent, { timeout: 500 })).toEqual({ error: 'timeout' });
});

it('nextAttempt allows ten attempts, about 5 s to 24 h apart, and Retry-After can only lengthen the wait, to at most 24 h', () => {
  const now = new Date('2027-01-05T12:00:00.000Z');
  const seconds = (failures: number, wish: string | null, random = 0.5): number | null => {
    const next = nextAttempt(failures, now, wishOf(wish, now), random);
    return next && (next.getTime() - now.getTime()) / 1000;
  };
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * 3600);
  const plain = Array.from({ length: 10 }, (_, failures) => seconds(failures + 1, null));
  expect(plain).toEqual([5, 300, 1800, ...hours, null]);
  expect([seconds(2, null, 0), seconds(2, null, 1)]).toEqual([240, 360]);
  const wishes = ['3600', 'Tue, 05 Jan 2027 13:00:00 GMT', '1', '999999', 'soon', '-5', ''];
  expect(wishes.map((wish) => seconds(2, wish))).toEqual([3600, 3600, 300, 86_400, 300, 300, 300]);
  expect(seconds(10, '60')).toBeNull();
});
