import { randomUUID } from 'node:crypto';
import { open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { create as contentDisposition } from 'content-disposition';
import { Client } from 'minio';
import type { S3Config } from '../../config.js';
import { errorCode, messageOf } from '../../failures.js';
import { Problem } from '../../problem.js';
import { makeFolderOfDataDir } from '../dataDir.js';
import { WrongStoreSetting, type ListedObject, type ObjectStore } from './objectStore.js';
import { removeFilesOlderThan } from './fileSweep.js';

export interface S3StoreOptions extends S3Config {
  /** Folder for temporary files without a name, which vanish when the process ends. */
  readonly spoolFolder: string;
  /** Milliseconds per request; default 30 000. */
  readonly timeout?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Opens a bucket of any S3-compatible server. The upload of minio's client would keep 5 MiB per file in memory, hang
 * (and end the process) if the body fails, and leave parts in the bucket. Here a body first goes to a temporary file,
 * so that one PUT of known size stores all of it or nothing.
 * @throws Error if the endpoint is not `http(s)://host[:port]`, or the spool folder cannot be created
 */
export async function openS3Store(options: S3StoreOptions): Promise<ObjectStore> {
  const { bucket, spoolFolder, region } = options;
  const client = clientFor(options);
  await makeFolderOfDataDir(spoolFolder);

  return {
    provider: 's3',
    container: bucket,

    async put(key, body, contentType) {
      const spool = await openNameless(spoolFolder).catch(unavailable);
      try {
        await writeFile(spool, body);
        const { size } = await spool.stat();
        const headers = { 'content-length': String(size), 'content-type': contentType };
        const target = { method: 'PUT', bucketName: bucket, objectName: key, headers };
        const content = spool.createReadStream({ start: 0, autoClose: false });
        const response = await client.makeRequestStreamAsync(target, content, '', [200], region);
        response.resume();
      } catch (error) {
        unavailable(error);
      } finally {
        await spool.close();
      }
    },

    async *read(key) {
      try {
        yield* await client.getObject(bucket, key);
      } catch (error) {
        unavailable(error);
      }
    },

    async remove(key) {
      await client.removeObject(bucket, key).catch((error: unknown) => {
        // On removal, only Google's server reports a missing object; treat that as removed.
        if (errorCode(error) !== 'NoSuchKey') unavailable(error);
      });
    },

    async *list(folder) {
      try {
        yield* listObjects(client, bucket, folder === undefined ? '' : `${folder}/`);
      } catch (error) {
        unavailable(error);
      }
    },

    // Only the spool folder can have remains: documents are sent in one piece, so the bucket has no unfinished parts.
    removeUnfinished: (before) => removeFilesOlderThan(spoolFolder, before).catch(unavailable),

    async link(key, { fileName, contentType }, now, seconds) {
      const headers = {
        'response-content-type': contentType,
        'response-content-disposition': contentDisposition(fileName),
        'response-cache-control': 'private, no-store',
      };
      return client.presignedGetObject(bucket, key, seconds, headers, now);
    },

    async check() {
      // List the bucket: HEAD would need the same permission, and some servers answer HEAD for a missing bucket with a
      // body, which breaks the connection.
      await client.listObjectsV2Query(bucket, '', '', '', 1, '').catch(unavailable);
    },

    async isVersioned() {
      // The client's type promises a status, but a bucket that never had versions has none.
      const { Status: status } = Object(await client.getBucketVersioning(bucket).catch(unavailable)) as {
        Status?: string;
      };
      return status === 'Enabled';
    },
  };
}

/** Lists objects page by page, so that memory has only one page of keys. */
async function* listObjects(client: Client, bucket: string, prefix: string): AsyncGenerator<ListedObject> {
  let token = '';
  for (let more = true; more;) {
    const page = await client.listObjectsV2Query(bucket, prefix, token, '', 1000, '');
    for (const { name, lastModified } of page.objects) {
      if (name !== undefined) yield { key: name, modifiedAt: lastModified };
    }
    // Convert back to text: the client's parser turns tokens that look numeric into numbers.
    const next: unknown = page.nextContinuationToken;
    [more, token] = [page.isTruncated, String(next)];
  }
}

function clientFor(options: S3StoreOptions): Client {
  const { endpoint, region, accessKey, secretKey, timeout = 30_000 } = options;
  const url = new URL(endpoint);
  if (url.pathname !== '/' || url.search || url.hash || url.username) {
    throw new Error('S3_ENDPOINT must be http(s)://host[:port]');
  }
  const client = new Client({
    endPoint: url.hostname,
    ...(url.port ? { port: Number(url.port) } : {}),
    useSSL: url.protocol === 'https:',
    region,
    accessKey,
    secretKey,
    pathStyle: true,
    // Do not retry: the client prints retries to the console, and callers and jobs retry anyway.
    retryOptions: { disableRetry: true },
    transport:
      url.protocol === 'https:' ? timeLimited(https, 'secureConnect', timeout) : timeLimited(http, 'connect', timeout),
  });
  // Send bodies unsigned: their hash is unknown before they are read.
  client.enableSHA256 = false;
  return client;
}

/** Wraps a request function with a time limit that includes reading the response; the client has no timeout. */
function timeLimited({ request }: typeof http | typeof https, connected: string, timeout: number) {
  const limited = (options: https.RequestOptions, onResponse?: (response: http.IncomingMessage) => void) => {
    const sent = request({ ...options, signal: AbortSignal.timeout(timeout) }, onResponse);
    // Without this listener, the request would end after a 101 response without result or error.
    sent.once('upgrade', (_response, socket) => {
      socket.destroy();
      sent.emit('error', new Error('The server switched protocols'));
    });
    return sent.once('socket', (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => sent.destroy(new Error('The connection timed out')), CONNECT_TIMEOUT_MS);
      for (const event of [connected, 'close']) socket.once(event, () => clearTimeout(timer));
    });
  };
  return { request: limited as typeof http.request };
}

/** Opens a file and removes its name: no other process can open it, and it vanishes with this process. */
async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, randomUUID());
  const handle = await open(path, 'wx+', 0o600);
  await rm(path);
  return handle;
}

/** S3's error codes that mean a wrong setting, where no retry helps, with the message for the operator. */
const wrongSettings: ReadonlyMap<unknown, string> = new Map([
  ['InvalidAccessKeyId', 'S3_ACCESS_KEY is unknown to the object store at S3_ENDPOINT: correct one of them'],
  ['SignatureDoesNotMatch', 'S3_SECRET_KEY is not the secret of S3_ACCESS_KEY: correct it'],
  [
    'AccessDenied',
    'S3_ACCESS_KEY lacks a right on S3_BUCKET: grant putting, getting, listing and deleting, or correct S3_BUCKET',
  ],
  ['NoSuchBucket', 'S3_BUCKET does not exist at S3_ENDPOINT: create or correct it'],
  ['AuthorizationHeaderMalformed', 'S3_REGION is not the region of S3_BUCKET: correct it'],
  ['AuthorizationQueryParametersError', 'S3_REGION is not the region of S3_BUCKET: correct it'],
  ['PermanentRedirect', 'S3_ENDPOINT is not the endpoint of S3_BUCKET: correct it'],
]);

/** Rethrows a Problem, which comes from the body; reports errors of the store and of the spool folder as unavailable. */
function unavailable(error: unknown): never {
  if (error instanceof Problem) throw error;
  const code = errorCode(error) === 'ABORT_ERR' ? 'ETIMEDOUT' : errorCode(error);
  const wrong = wrongSettings.get(code);
  const reason = typeof code === 'string' ? code : messageOf(error);
  const cause =
    wrong === undefined
      ? new Error(
          reason === 'NoSuchKey'
            ? 'S3_BUCKET lacks an object (NoSuchKey): restore an older version of it, or that of a backup'
            : `Check the object store at S3_ENDPOINT and the folder spool in DATA_DIR, one of which failed: ${reason}`,
        )
      : new WrongStoreSetting(`${wrong} (${reason})`);
  throw new Problem('dependency_unavailable', undefined, { cause });
}
