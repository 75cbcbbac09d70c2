import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join } from 'node:path';
import { create as contentDisposition } from 'content-disposition';
import got, { type Response } from 'got';
import { Client } from 'minio';
import type { S3Config } from '../../config.js';
import { errorCode } from '../../failures.js';
import { Problem } from '../../problem.js';
import { endsWithin } from '../endsWithin.js';
import { WrongStoreSetting, type ListedObject, type ObjectStore } from './objectStore.js';
import { removeFilesOlderThan } from './fileSweep.js';

export interface S3StoreOptions extends S3Config {
  /** Folder of unnamed temporary files, which vanish with the process. */
  readonly spoolFolder: string;
  /** Milliseconds per request; default 30 000. */
  readonly timeout?: number;
}

/** Lifetime of request signatures in seconds: enough for clocks that differ a little. */
const requestExpiry = 300;

/**
 * Objects in a bucket of any S3-compatible server. minio's client signs plain HTTP requests with timeouts. Its own
 * upload would keep 5 MiB per file in memory, hang (and end the process) if the body fails, and leave parts in the
 * bucket. Here a body goes to an unnamed file first, so that one PUT of known size stores all or nothing.
 * @throws Error if the endpoint is not `http(s)://host[:port]`, or the spool folder cannot be created
 */
export async function openS3Store(options: S3StoreOptions): Promise<ObjectStore> {
  const { bucket, spoolFolder } = options;
  const client = clientFor(options);
  const timeout = options.timeout ?? 30_000;
  const http = got.extend({
    agent: { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) },
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    timeout: { connect: 5000, secureConnect: 5000 },
  });
  // Not got's own timeout: a 101 response ends it without a result, and the request would wait forever.
  const limited = () => ({ signal: AbortSignal.timeout(timeout) });
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 });

  return {
    provider: 's3',
    container: bucket,

    async put(key, body, contentType) {
      const spool = await openNameless(spoolFolder).catch(unavailable);
      try {
        await writeFile(spool, body);
        const { size } = await spool.stat();
        const url = await client.presignedPutObject(bucket, key, requestExpiry);
        const file = spool.createReadStream({ start: 0, autoClose: false });
        const headers = { 'content-length': String(size), 'content-type': contentType };
        expectSuccess(await http.put(url, { body: file, headers, ...limited() }));
      } catch (error) {
        unavailable(error);
      } finally {
        await spool.close();
      }
    },

    async *read(key) {
      const url = await client.presignedGetObject(bucket, key, requestExpiry);
      const stream = http.stream(url, { throwHttpErrors: true, ...limited() });
      // The timeout may pass after reading: an error without a listener ends the process.
      stream.on('error', () => undefined);
      try {
        yield* stream;
      } catch (error) {
        unavailable(error);
      } finally {
        stream.destroy();
      }
    },

    async remove(key) {
      const url = await client.presignedUrl('DELETE', bucket, key, requestExpiry);
      expectSuccess(await http.delete(url, limited()).catch(unavailable), 'NoSuchKey');
    },

    list: () => listObjects(client, bucket, timeout),

    async removeUnfinished(before) {
      const spooled = await removeFilesOlderThan(spoolFolder, before).catch(unavailable);
      return spooled + (await abortUploads(client, bucket, timeout, before));
    },

    async link(key, { fileName, contentType }, now, seconds) {
      const headers = {
        'response-content-type': contentType,
        'response-content-disposition': contentDisposition(fileName),
        'response-cache-control': 'private, no-store',
      };
      return client.presignedGetObject(bucket, key, seconds, headers, now);
    },

    async check() {
      // GET instead of HEAD, which needs the same permission: some servers answer HEAD for a missing bucket with a
      // body, which breaks the connection.
      const query = { 'list-type': '2', 'max-keys': '1' };
      const url = await client.presignedUrl('GET', bucket, '', requestExpiry, query);
      expectSuccess(await http.get(url, limited()).catch(unavailable));
    },
  };
}

/** Keeps one page of keys in memory. */
async function* listObjects(client: Client, bucket: string, timeout: number): AsyncGenerator<ListedObject> {
  let token = '';
  for (let more = true; more;) {
    const page = await inTime(timeout, client.listObjectsV2Query(bucket, '', token, '', 1000, ''));
    for (const { name, lastModified } of page.objects) {
      if (name !== undefined) yield { key: name, modifiedAt: lastModified };
    }
    // The client's parser turns numeric tokens into numbers.
    const next: unknown = page.nextContinuationToken;
    [more, token] = [page.isTruncated, String(next)];
  }
}

/** This store uploads in one piece, but parts of other or earlier programs cost money until they are removed. */
async function abortUploads(client: Client, bucket: string, timeout: number, before: Date): Promise<number> {
  let aborted = 0;
  let [key, id] = ['', ''];
  for (let more = true; more;) {
    const page = await inTime(timeout, client.listIncompleteUploadsQuery(bucket, '', key, id, ''));
    for (const upload of page.uploads.filter(({ initiated }) => initiated < before)) {
      await inTime(timeout, client.abortMultipartUpload(bucket, upload.key, upload.uploadId));
      aborted += 1;
    }
    [more, key, id] = [page.isTruncated, page.nextKeyMarker, page.nextUploadIdMarker];
  }
  return aborted;
}

/** The client's own requests have no timeout. */
async function inTime<T>(timeout: number, request: Promise<T>): Promise<T> {
  const isInTime = await endsWithin(timeout, request).catch(unavailable);
  return isInTime ? request : unavailable(new Error('The object store did not answer in time'));
}

function clientFor({ endpoint, region, accessKey, secretKey }: S3StoreOptions): Client {
  const url = new URL(endpoint);
  if (url.pathname !== '/' || url.search || url.hash || url.username) {
    throw new Error('S3_ENDPOINT must be http(s)://host[:port]');
  }
  return new Client({
    endPoint: url.hostname,
    ...(url.port ? { port: Number(url.port) } : {}),
    useSSL: url.protocol === 'https:',
    region,
    accessKey,
    secretKey,
    pathStyle: true,
    // A retry would be printed to the console, and jobs retry anyway.
    retryOptions: { disableRetry: true },
  });
}

/** An unlinked file: no other process can read it, and it vanishes with this one. */
async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, randomUUID());
  const handle = await open(path, 'wx+', 0o600);
  await rm(path);
  return handle;
}

/** Error codes for which no retry helps, and the wrong settings. */
const wrongSettings: ReadonlyMap<string, string> = new Map([
  ['InvalidAccessKeyId', 'S3_ACCESS_KEY is unknown to the object store'],
  ['SignatureDoesNotMatch', 'S3_SECRET_KEY is not the secret of S3_ACCESS_KEY'],
  ['AccessDenied', 'S3_ACCESS_KEY lacks a right on S3_BUCKET'],
  ['NoSuchBucket', 'S3_BUCKET does not exist'],
  ['AuthorizationHeaderMalformed', 'S3_REGION is not the region of S3_BUCKET'],
  ['AuthorizationQueryParametersError', 'S3_REGION is not the region of S3_BUCKET'],
  ['PermanentRedirect', 'S3_ENDPOINT is not the endpoint of S3_BUCKET'],
]);

/** @throws Problem dependency_unavailable with the server's status and error code, never the signed URL */
function expectSuccess({ statusCode, body }: Response<string>, acceptedCode?: string): void {
  // Not response.ok: without following redirects, got counts them as success.
  if (statusCode >= 200 && statusCode < 300) return;
  const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? 'no error code';
  // Only Google's server reports a missing object on removal.
  if (code === acceptedCode) return;
  const wrong = wrongSettings.get(code);
  unavailable(
    wrong === undefined
      ? new Error(`The object store answered ${statusCode} (${code})`)
      : new WrongStoreSetting(`${wrong} (${code})`),
  );
}

/** Rethrows the body's own Problem; other errors come from the store. */
function unavailable(error: unknown): never {
  if (error instanceof Problem) throw error;
  // got's errors contain the signed URL, so the log gets only the code.
  const code = errorCode(error) === 'ERR_ABORTED' ? 'ETIMEDOUT' : errorCode(error);
  const isOurs = error instanceof WrongStoreSetting || !(error instanceof Error);
  const cause = isOurs ? error : new Error(typeof code === 'string' ? code : error.message);
  throw new Problem('dependency_unavailable', undefined, { cause });
}
