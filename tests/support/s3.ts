import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'minio';
import { isThere, packages } from './optional.js';

/** Debian's packages belong to the system's Python, which may not be the first in PATH. */
const python = '/usr/bin/python3';

/** The configuration of the S3 driver. */
export interface S3Account {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Server {
  readonly account: S3Account;
  /** The configuration of the service for this server. */
  readonly environment: Readonly<Record<string, string>>;
  /** Keys in the bucket. */
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

/** Whether this machine has the server; as {@link isThere}. */
export function hasS3Server(): boolean {
  // Finds the packages without the second that their import takes.
  const search = "import importlib.util, sys; sys.exit(None in map(importlib.util.find_spec, ['swift', 'eventlet']))";
  const found = spawnSync(python, ['-c', search]).status === 0;
  return isThere(found, 'tests on a real S3 server', packages('python3-swift'));
}

/** Starts a real S3 server on loopback with one empty bucket. */
export async function startS3Server(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 's3-'));
  const keyPair = { accessKey: 'test:tester', secretKey: 'testing' };
  const script = fileURLToPath(new URL('s3server.py', import.meta.url));
  const server = spawn(python, [script, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { S3_ACCESS_KEY: keyPair.accessKey, S3_SECRET_KEY: keyPair.secretKey },
  });
  const [line]: unknown[] = await Promise.race([
    once(createInterface(server.stdout), 'line'),
    once(server, 'exit').then(([status]) => {
      throw new Error(`The S3 server ended with status ${String(status)} before it listened: its error is above`);
    }),
  ]);
  const port = Number(/^listening (\d+)$/.exec(String(line))?.[1]);
  const [region, bucket] = ['us-east-1', 'documents'];
  const client = new Client({ endPoint: '127.0.0.1', port, useSSL: false, region, ...keyPair });
  await client.makeBucket(bucket);

  const endpoint = `http://127.0.0.1:${port}`;
  return {
    account: { endpoint, region, bucket, ...keyPair },
    environment: {
      OBJECT_STORE: 's3',
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY: keyPair.accessKey,
      S3_SECRET_KEY: keyPair.secretKey,
    },
    async keys() {
      const keys: string[] = [];
      for await (const item of client.listObjectsV2(bucket, '', true)) keys.push(String(item.name));
      return keys;
    },
    async close() {
      const ended = once(server, 'exit');
      server.stdin.end();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
