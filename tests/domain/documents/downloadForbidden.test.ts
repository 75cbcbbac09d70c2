import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { createDownloader } from '../../../src/adapters/download/download.js';
import type { DownloaderOptions } from '../../../src/adapters/download/download.js';
import { createWebhookSender, type SenderOptions } from '../../../src/adapters/webhooks/httpSender.js';
import type { Downloader } from '../../../src/adapters/download/downloader.js';
import type { HostAddress } from '../../../src/adapters/download/hostAddresses.js';
import { codeOf, fetchWith, refusalOf, until } from '../../support/downloads.js';
import { portOf, startFileHost } from '../../support/fileHost.js';
import type { FileHost } from '../../support/fileHost.js';
import { startDeafServer, startRawServer } from '../../support/rawServer.js';

let host: FileHost;
let download: Downloader;

const downloaderFor = (options: Partial<DownloaderOptions> = {}) =>
  createDownloader({ allowedHosts: [host.host], ...options });

const deliver = (url: string, options: Partial<SenderOptions> = {}) =>
  createWebhookSender({ allowedHosts: [host.host], timeout: 15_000, ...options })(url, {}, '{}');

beforeAll(async () => {
  host = await startFileHost();
  download = downloaderFor();
});
afterEach(() => until(() => host.openConnections() === 0));
afterAll(() => host.close());

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

  const literals = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '127.255.255.254',
    '0',
    '0.0.0.0',
    '１２７.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[fe80::1]',
    '[fc00::1]',
    '[ff02::1]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0xa9fea9fe',
    '168.63.129.16',
    '[fd00:ec2::254]',
    'metadata.google.internal',
    'intranet',
  ];

  it.each(literals)('is forbidden as https://%s, as a redirect and for webhooks', async (literal) => {
    for (const scheme of ['https', 'http']) {
      const url = `${scheme}://${literal}:${port}/latest/meta-data/`;
      expect(await codeOf(fetchWith(download, url))).toBe('document_url_forbidden');
      expect(await deliver(url)).toEqual({ error: 'url_forbidden' });
      const bait = host.serve('/bait.pdf', (_request, response) => {
        response.writeHead(302, { location: Buffer.from(url).toString('latin1') }).end();
      });
      expect(await codeOf(fetchWith(download, bait))).toBe('document_url_forbidden');
      expect(await deliver(bait)).toEqual({ status: 302, retryAfter: null });
    }
  });

  const publicAddress: HostAddress = { address: '8.8.8.8', family: 4 };
  const answers: [string, HostAddress[]][] = [
    ['an IPv4 loopback', [{ address: '127.0.0.1', family: 4 }]],
    ['an IPv6 loopback', [{ address: '::1', family: 6 }]],
    ['a mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a private address', [{ address: '10.0.0.7', family: 4 }]],
    ['the metadata service', [{ address: '169.254.169.254', family: 4 }]],
    ['a link-local address with its zone', [{ address: 'fe80::1%lo', family: 6 }]],
    ['a public A and a private A', [publicAddress, { address: '127.0.0.1', family: 4 }]],
    ['a private A and a public A', [{ address: '127.0.0.1', family: 4 }, publicAddress]],
    ['a public A and a private AAAA', [publicAddress, { address: '::1', family: 6 }]],
    [
      'a public AAAA and a private A',
      [
        { address: '2606:4700::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ],
    ],
    ['a NAT64 address', [{ address: '64:ff9b::7f00:1', family: 6 }]],
    ['the unspecified address', [{ address: '0.0.0.0', family: 4 }]],
  ];

  it.each(answers)('is forbidden by a name that resolves to %s', async (_name, addresses) => {
    const misled = downloaderFor({ lookup: async () => addresses });
    const refusal = await refusalOf(fetchWith(misled, `https://files.example.com:${port}/`));
    const message = 'The service must not fetch this URL; use a public https URL.';
    expect([refusal.code, refusal.message]).toEqual(['document_url_forbidden', message]);
    const sent = await deliver(`https://files.example.com:${port}/`, { lookup: async () => addresses });
    expect(sent).toEqual({ error: 'url_forbidden' });
  });

  it('is not reached by a name whose DNS answer turns private after the check', async () => {
    let lookups = 0;
    const rebinding = downloaderFor({
      connectTimeout: 300,
      lookup: async () => (lookups++ === 0 ? [publicAddress] : [{ address: '127.0.0.1', family: 4 }]),
    });
    expect(await codeOf(fetchWith(rebinding, `https://files.example.com:${port}/`))).toBe('document_fetch_failed');
    expect(lookups).toBe(1);
    // A webhook is looked up again at each attempt.
    const lookup = async () => (lookups++ === 1 ? [publicAddress] : [{ address: '127.0.0.1', family: 4 }]);
    const attempt = () => deliver(`https://files.example.com:${port}/`, { timeout: 300, lookup });
    expect([{ error: 'timeout' }, { error: 'unreachable' }]).toContainEqual(await attempt());
    expect(await attempt()).toEqual({ error: 'url_forbidden' });
  });

  it('is refused before any connection, at once and equally for open, silent and closed ports', async () => {
    const [deaf, closed] = [await startDeafServer(), await startRawServer('', false)];
    closed.close();
    // A connection attempt would wait a minute at the first and be refused by the second.
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const patient = downloaderFor({ connectTimeout: 60_000, lookup });
    const answers = new Set<string>();
    for (const target of [String(port), deaf.host.split(':')[1], closed.host.split(':')[1]]) {
      for (const name of ['127.0.0.1', 'files.example.com']) {
        const { code, message, cause } = await refusalOf(fetchWith(patient, `https://${name}:${target}/`));
        answers.add(JSON.stringify([code, message, cause]));
      }
    }
    deaf.close();
    const message = 'The service must not fetch this URL; use a public https URL.';
    expect([...answers]).toEqual([JSON.stringify(['document_url_forbidden', message, undefined])]);
  });

  it('is not reached by an exception for another port', async () => {
    expect(await codeOf(fetchWith(download, `http://127.0.0.1:${port}/`))).toBe('document_url_forbidden');
  });

  it.each([
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'gopher://127.0.0.1:70/',
    'https://u:p@files.example.com/',
    'javascript:1',
  ])('answers %s as invalid in a request and as forbidden in a redirect', async (url) => {
    expect(await codeOf(fetchWith(download, url))).toBe('document_url_invalid');
    const bait = host.serve('/odd', (_request, response) => {
      response.writeHead(307, { location: url }).end();
    });
    expect(await codeOf(fetchWith(download, bait))).toBe('document_url_forbidden');
  });
});
