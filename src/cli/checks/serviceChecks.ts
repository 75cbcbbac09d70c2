import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { v7 } from 'uuid';
import { isLoopback } from '../../adapters/database/databaseUrl.js';
import { freeBytes, makeDataDir } from '../../adapters/dataDir.js';
import { connectRedis } from '../../adapters/limits/redisClient.js';
import { openObjectStore } from '../../adapters/objects/openObjectStore.js';
import { createDocumentScanner } from '../../adapters/scanner/createDocumentScanner.js';
import { openSigningKeys } from '../../adapters/tokens/signingKeys.js';
import { localUrl, type Config } from '../../config.js';
import { causeOf, errorCode, messageOf } from '../../failures.js';
import { name as serviceName, version } from '../../packageRoot.js';
import { Problem } from '../../problem.js';
import { PROGRAM } from '../command.js';
import { CHECK_TIMEOUT_MS, checkOf, failure, ok, remedyFor, warning, type Check } from './check.js';

const INSTALL = 'scripts/production/install.md';
/** Timeout of a request; shorter than that of its check, so that the error names the failed request. */
const REQUEST_TIMEOUT_MS = 0.8 * CHECK_TIMEOUT_MS;
/** The remedy for a store that answers, but wrongly. */
const REPAIR = 'Repair the object store (file store: the disk of DATA_DIR).';
/** A harmless file that every scanner reports (EICAR). Split, so that scanners do not report this source. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/** All checks except those of configuration, database and disk. @param hasDisk whether that of the disk passed */
export function serviceChecks(config: Config, hasDisk: boolean): Check[] {
  return [
    ...(hasDisk || !config.createSigningKeys ? [signingKeys(config)] : []),
    ...(hasDisk || config.objectStore.kind === 's3' ? [objectStore(config)] : []),
    ...(config.documentScanner.kind === 'none' ? [] : [scanner(config)]),
    ...(config.rateLimit?.redisUrl ? [redis(config.rateLimit.redisUrl)] : []),
    baseUrl(config),
  ];
}

/** The check of DATA_DIR. */
export function diskCheck(config: Config): Check {
  const { dataDir, minFreeDisk } = config;
  const remedy =
    'Run doctor as the user of the service. Let this user write to DATA_DIR, repair its disk, or correct DATA_DIR.';
  return checkOf('disk', remedy, async () => {
    await makeDataDir(dataDir);
    await access(dataDir, constants.W_OK);
    const free = await freeBytes(dataDir);
    const message = `${mebibytes(free)} MiB are free in DATA_DIR ${dataDir}, MIN_FREE_DISK is ${mebibytes(minFreeDisk)}.`;
    const isUsed = config.databaseUrl === null || config.objectStore.kind === 'file';
    if (free >= minFreeDisk || !isUsed) return ok(message);
    return failure(message, 'Free space on this disk, enlarge it, or correct MIN_FREE_DISK.');
  });
}

const mebibytes = (bytes: number): number => Math.floor(bytes / 1024 ** 2);

function signingKeys({ signingKeysFile: file, createSigningKeys }: Config): Check {
  const remedy = `Correct SIGNING_KEYS_FILE; or move a damaged file away, then copy that of another server, or get that of the backup by "${PROGRAM} restore --with-keys" into an empty database. If there is none, run "${PROGRAM} keys rotate" (${INSTALL}#signing-keys).`;
  return checkOf('signing keys', remedy, async () => {
    const found = await stat(file).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    });
    if (!found && createSigningKeys) return ok(`The first start creates ${file}.`);
    if (!found) return failure(`${file} is missing.`, remedy);
    await (await openSigningKeys(file, null, () => undefined)).current();
    // Allow the group to read, because Kubernetes mounts secrets in this way.
    if ((found.mode & 0o027) === 0) return ok(`${file} is readable, for the service only.`);
    const mode = (found.mode & 0o777).toString(8);
    const advice = `Run chmod 600 ${file} (Kubernetes: defaultMode: 0440 of the secret), then rotate the keys (scripts/production/runbooks.md#logins).`;
    return failure(`Others may read or change ${file} (mode ${mode}).`, advice);
  });
}

function objectStore({ dataDir, objectStore: store }: Config): Check {
  const advice =
    store.kind === 's3'
      ? 'Start the object store, or correct what the message names: the S3_… variables, the rights of S3_ACCESS_KEY (put, get, list, delete, read the versioning of the bucket), the folder spool in DATA_DIR, or the clock'
      : 'Let the user of the service write to the folder documents in DATA_DIR, and free space on its disk, or repair it';
  const remedy = `${advice} (${INSTALL}#object-store).`;
  const run = async () => {
    const objects = await openObjectStore({ dataDir, store, timeout: REQUEST_TIMEOUT_MS });
    const key = `doctor/${v7()}`;
    await objects.put(key, Readable.from([Buffer.from(key)]), 'text/plain');
    try {
      const content = Buffer.concat(await all(objects.read(key))).toString();
      if (content !== key) return failure('The store returned an object with other content.', REPAIR);
      const listed = await all(objects.list('doctor'));
      if (!listed.some((object) => object.key === key)) return failure('A stored object is not listed.', REPAIR);
    } finally {
      await objects.remove(key);
    }
    const works = ok(`An object was stored, read, listed and deleted (${store.kind}).`);
    if ((await objects.isVersioned?.()) !== false) return works;
    const advice = `Enable versioning of the bucket, unless "${PROGRAM} backup create" copies the documents (scripts/production/backup.md).`;
    return [works, warning('The bucket keeps no versions.', advice)];
  };
  // Allow time for several requests, each with its own timeout: a store that is slow is not down.
  return { name: 'object store', remedy, timeoutMs: 6 * CHECK_TIMEOUT_MS, run };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function scanner({ documentScanner }: Config): Check {
  const remedy =
    'Start clamd, correct CLAMAV_ADDRESS, see the log of clamd, or let the user of the service use the socket.';
  return checkOf('scanner', remedy, async () => {
    try {
      await all(createDocumentScanner(documentScanner).scanned(Readable.from([Buffer.from(EICAR)])));
    } catch (error) {
      if (error instanceof Problem && error.code === 'document_rejected') return ok('clamd finds the test file EICAR.');
      throw error;
    }
    return failure('clamd does not find the test file EICAR.', 'Update its signatures (freshclam), and restart clamd.');
  });
}

function redis(url: string): Check {
  const remedy =
    'Start Redis, correct the error that it names, or correct RATE_LIMIT_REDIS_URL. A process without Redis counts requests alone.';
  return checkOf('redis', remedy, async () => {
    let reason: string | undefined;
    const log = pino({ level: 'warn' }, { write: (line) => ({ reason } = JSON.parse(line) as { reason?: string }) });
    const client = await connectRedis(url, log);
    try {
      await client.ping();
      return ok('Redis answers.');
    } catch (error) {
      throw new Error(`Redis at RATE_LIMIT_REDIS_URL cannot be used: ${reason ?? messageOf(error)}`, { cause: error });
    } finally {
      client.disconnect();
    }
  });
}

function baseUrl(config: Config): Check {
  const url = config.baseUrl ?? localUrl(config);
  const remedy = 'Start the server, or correct BASE_URL (without it: HOST and PORT), its DNS entry and the proxy.';
  const named = async () => {
    const response = await fetch(`${url}/healthz`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    }).catch((error: unknown) => {
      const cause = causeOf(error);
      return warning(`${url} gave no HTTP response: ${cause}.`, remedyFor(cause, remedy));
    });
    if ('level' in response) return response;
    const { service, version: running } = Object(await response.json().catch(() => null)) as Record<string, unknown>;
    if (service !== serviceName) return failure(`${url}/healthz is not answered by this service.`, remedy);
    if (running !== version) {
      const message = `${url} runs ${String(running)}, and this program is ${version}.`;
      return warning(message, 'Restart the server, or update the older one.');
    }
    return ok(`${url} runs ${version}.`);
  };
  return checkOf('base URL', remedy, async () => {
    const isProtected = url.startsWith('https:') || isLoopback(new URL(url).hostname);
    const plain = warning(
      `${url} is plain HTTP: tokens are not protected.`,
      `Set BASE_URL to an https URL (${INSTALL}#proxy).`,
    );
    const hidden = warning(
      'TRUSTED_PROXIES=0 behind a proxy: all callers share its address, so others can block a client by failed logins.',
      `Set TRUSTED_PROXIES to the number of proxies, all of which must append to X-Forwarded-For (${INSTALL}#proxy).`,
    );
    const isHidden = url.startsWith('https:') && config.trustedProxies === 0;
    return [await named(), ...(isProtected ? [] : [plain]), ...(isHidden ? [hidden] : [])];
  });
}
