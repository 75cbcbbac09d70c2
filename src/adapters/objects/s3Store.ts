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
  /** Folder for files on their way; they have no name there and vanish with the process. */
  readonly spoolFolder: string;
  /** Milliseconds for one request; default 30 000. */
  readonly timeout?: number;
}

/** Seconds that a signature for our own requests is good for: enough for clocks that differ a little. */
const requestExpiry = 300;

/**
 * Objects in a bucket of any S3-compatible server. minio's client signs; the requests are plain HTTP ones with time
 * limits. Its own upload keeps 5 MiB of each in memory, hangs (and ends the process) when the body fails, and leaves
 * parts in the bucket: here a body goes to a nameless file, so that one PUT of a known size stores all or nothing.
 * @throws Error when the endpoint is not `http(s)://host[:port]`, or the spool folder can't be made
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
  // Not got's own limit, which a 101 ends without a response: the request would wait for ever.
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
      // Its time limit may pass when it has been read to its end: an error without a listener ends the process.
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
      // Not HEAD, which needs the same permission: some servers answer that of a missing bucket with a body, which breaks
      // the connection.
      const query = { 'list-type': '2', 'max-keys': '1' };
      const url = await client.presignedUrl('GET', bucket, '', requestExpiry, query);
      expectSuccess(await http.get(url, limited()).catch(unavailable));
    },
  };
}

/** One page of keys is in memory at a time. */
async function* listObjects(client: Client, bucket: string, timeout: number): AsyncGenerator<ListedObject> {
  let token = '';
  for (let more = true; more;) {
    const page = await inTime(timeout, client.listObjectsV2Query(bucket, '', token, '', 1000, ''));
    for (const { name, lastModified } of page.objects) {
      if (name !== undefined) yield { key: name, modifiedAt: lastModified };
    }
    // Their parser makes a number of a token that looks like one.
    const next: unknown = page.nextContinuationToken;
    [more, token] = [page.isTruncated, String(next)];
  }
}

/** We upload in one piece; parts come from other programs or earlier ones, and cost money until they are removed. */
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

/** The client's own requests have no limit of time. */
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
    // A retry is written to the console, and a job is tried again anyway.
    retryOptions: { disableRetry: true },
  });
}

/** A file that has no name any more: only this process can read it, and nothing is left when it dies. */
async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, randomUUID());
  const handle = await open(path, 'wx+', 0o600);
  await rm(path);
  return handle;
}

/** Error codes that no retry helps against, and the settings that they are about. */
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
  // Not response.ok: without following redirects, got takes them for a success.
  if (statusCode >= 200 && statusCode < 300) return;
  const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? 'no error code';
  // Google's server alone says so when it removes what is not there.
  if (code === acceptedCode) return;
  const wrong = wrongSettings.get(code);
  unavailable(
    wrong === undefined
      ? new Error(`The object store answered ${statusCode} (${code})`)
      : new WrongStoreSetting(`${wrong} (${code})`),
  );
}

/** The body's own reason passes; everything else is the store's. */
function unavailable(error: unknown): never {
  if (error instanceof Problem) throw error;
  // got's errors carry the request with its signed URL: only the reason goes to the log.
  const code = errorCode(error) === 'ERR_ABORTED' ? 'ETIMEDOUT' : errorCode(error);
  const isOurs = error instanceof WrongStoreSetting || !(error instanceof Error);
  const cause = isOurs ? error : new Error(typeof code === 'string' ? code : error.message);
  throw new Problem('dependency_unavailable', undefined, { cause });
}
