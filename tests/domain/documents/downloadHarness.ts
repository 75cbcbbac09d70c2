import type { ServerResponse } from 'node:http';
import { createDownloader, type DownloaderOptions } from '../../../src/adapters/download/download.js';
import type { Downloader } from '../../../src/adapters/download/downloader.js';
import type { LookupAddress } from 'node:dns';
import { codeOf, fetchWith } from '../../support/downloads.js';
import { startFileHost, type FileHost } from '../../support/fileHost.js';
import { words } from '../../support/words.js';
import { until } from '../../support/until.js';

/** A file host for the tests of one file; no test may leave a connection to it open. */
export function useFileHost() {
  let host: FileHost;
  beforeAll(async () => {
    host = await startFileHost();
  });
  afterEach(() => until(() => host.openConnections() === 0));
  afterAll(() => host.close());
  /** A downloader that may fetch from the host. */
  const downloaderFor = (options: Partial<DownloaderOptions> = {}): Downloader =>
    createDownloader({ allowedHosts: [host.host], ...options });
  return {
    get host() {
      return host;
    },
    downloaderFor,
    /** The code that a fetch is refused with. */
    codeFor: (url: string, options?: Partial<DownloaderOptions>) => codeOf(fetchWith(downloaderFor(options), url)),
  };
}

export const redirect =
  (location: string, status = 302) =>
  (_request: unknown, response: ServerResponse): unknown =>
    response.writeHead(status, { location }).end();

export const ipv4 = (address: string): LookupAddress => ({ address, family: 4 });
export const ipv6 = (address: string): LookupAddress => ({ address, family: 6 });

/** Spellings of loopback, private, reserved and internal hosts, which neither documents nor webhooks may reach. */
export const forbiddenHosts = words(`
  localhost LOCALHOST localhost. LOCALHOST. a.localhost intranet printer.local db.internal metadata.google.internal
  metadata.google.internal. router.home.arpa x.onion 127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0x7f.1
  0177.0.0.1 017700000001 127.0.0.1. 127.255.255.254 %31%32%37.0.0.1 １２７.0.0.1 ①②⑦.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1
  0 0.0.0.0 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 100.100.100.200 169.254.169.254 2852039166 0xa9fea9fe
  0251.0376.0251.0376 168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
  255.255.255.255 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:a9fe:a9fe] [::ffff:8.8.8.8]
  [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::169.254.169.254]
  [64:ff9b:1::7f00:1] [64:ff9b:1::a9fe:a9fe] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:7f00:1::] [fe80::1] [fec0::1]
  [fc00::1] [fd00:ec2::254] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [4000::1] [5f00::1] [2001:2::1] [2001:10::1]`);
