import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { createWebhookSender, type SenderOptions } from '../../../src/adapters/webhooks/httpSender.js';
import { problems } from '../../../src/problem.js';
import { fetchWith, refusalOf } from '../../support/downloads.js';
import { portOf } from '../../support/fileHost.js';
import { startDeafServer, startRawServer } from '../../support/rawServer.js';
import { words } from '../../support/words.js';
import { forbiddenHosts, ipv4, ipv6, redirect, useFileHost } from './downloadHarness.js';

const files = useFileHost();
const message = problems.document_url_forbidden.detail;
const publicAddress = ipv4('8.8.8.8');
const loopback = ipv4('127.0.0.1');

const deliver = (url: string, options: Partial<SenderOptions> = {}) =>
  createWebhookSender({ allowedHosts: [files.host.host], timeout: 15_000, ...options })(url, {}, '{}');

describe('a local server that must never be reached', () => {
  let trap: Server;
  let reached = 0;
  let port = 0;

  beforeAll(async () => {
    // On every address of the machine, IPv4 and IPv6.
    trap = createServer((socket) => {
      reached += 1;
      socket.destroy();
    }).listen(0);
    await once(trap, 'listening');
    port = portOf(trap.address());
  });
  afterEach(() => {
    expect(reached).toBe(0);
  });
  afterAll(() => {
    trap.close();
  });

  it.each(forbiddenHosts)('is forbidden as https://%s, as the target of a redirect and for webhooks', async (name) => {
    for (const scheme of ['https', 'http']) {
      const url = `${scheme}://${name}:${port}/latest/meta-data/`;
      expect(await files.codeFor(url)).toBe('document_url_forbidden');
      expect(await deliver(url)).toEqual({ error: 'url_forbidden' });
      const bait = files.host.serve('/bait.pdf', redirect(Buffer.from(url).toString('latin1')));
      expect(await files.codeFor(bait)).toBe('document_url_forbidden');
      expect(await deliver(bait)).toEqual({ status: 302, retryAfter: null });
    }
  });

  it.each<[string, LookupAddress[]]>([
    ['an IPv4 loopback', [loopback]],
    ['an IPv6 loopback', [ipv6('::1')]],
    ['a mapped address', [ipv6('::ffff:127.0.0.1')]],
    ['a private address', [ipv4('10.0.0.7')]],
    ['the metadata service', [ipv4('169.254.169.254')]],
    ['a link-local address with its zone', [ipv6('fe80::1%lo')]],
    ['a public A and a private A', [publicAddress, loopback]],
    ['a private A and a public A', [loopback, publicAddress]],
    ['a public A and a private AAAA', [publicAddress, ipv6('::1')]],
    ['a public AAAA and a private A', [ipv6('2606:4700::1'), loopback]],
    ['a NAT64 address', [ipv6('64:ff9b::7f00:1')]],
    ['the unspecified address', [ipv4('0.0.0.0')]],
  ])('is forbidden by a name that resolves to %s', async (_name, addresses) => {
    const lookup = async () => addresses;
    const url = `https://files.example.com:${port}/`;
    const refusal = await refusalOf(fetchWith(files.downloaderFor({ lookup }), url));
    expect([refusal.code, refusal.message]).toEqual(['document_url_forbidden', message]);
    expect(await deliver(url, { lookup })).toEqual({ error: 'url_forbidden' });
  });

  it('is not reached by a name whose DNS answer turns private after the check', async () => {
    const url = `https://files.example.com:${port}/`;
    let lookups = 0;
    const lookup = async () => (lookups++ === 0 ? [publicAddress] : [loopback]);
    expect(await files.codeFor(url, { connectTimeout: 300, lookup })).toBe('document_fetch_failed');
    expect(lookups).toBe(1);
    // A webhook is looked up again at each attempt.
    lookups = 0;
    const attempt = () => deliver(url, { timeout: 300, lookup });
    expect([{ error: 'timeout' }, { error: 'unreachable' }]).toContainEqual(await attempt());
    expect(await attempt()).toEqual({ error: 'url_forbidden' });
  });

  it('is refused without a connection, immediately and with the same answer for open, silent and closed ports', async () => {
    const [deaf, closed] = [await startDeafServer(), await startRawServer('', false)];
    closed.close();
    // A connection attempt would wait a minute for the silent port, and be refused by the closed one.
    const patient = files.downloaderFor({ connectTimeout: 60_000, lookup: async () => [loopback] });
    const answers = new Set<string>();
    for (const target of [String(port), deaf.host.split(':')[1], closed.host.split(':')[1]]) {
      for (const name of ['127.0.0.1', 'files.example.com']) {
        const refusal = await refusalOf(fetchWith(patient, `https://${name}:${target}/`));
        answers.add(JSON.stringify([refusal.code, refusal.message, refusal.cause]));
      }
    }
    deaf.close();
    expect([...answers]).toEqual([JSON.stringify(['document_url_forbidden', message, undefined])]);
  });

  it.each(
    words('file:///etc/passwd ftp://127.0.0.1/ gopher://127.0.0.1:70/ https://u:p@files.example.com/ javascript:1'),
  )(
    'is not reached by %s, which is document_url_invalid in a request and document_url_forbidden in a redirect',
    async (url) => {
      expect(await files.codeFor(url)).toBe('document_url_invalid');
      expect(await files.codeFor(files.host.serve('/odd', redirect(url, 307)))).toBe('document_url_forbidden');
    },
  );
});
