import type { ServerResponse } from 'node:http';
import type { Downloaded, Downloader, RemoteFile } from '../../src/adapters/download/downloader.js';
import { Problem } from '../../src/problem.js';

/** Reads a fetched file into memory. */
export async function readAll(file: RemoteFile): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Fetches and reads a URL, up to 1 MiB. */
export function fetchWith(download: Downloader, url: string): Promise<Downloaded<Buffer>> {
  return download(url, { maxBytes: 1024 * 1024 }, readAll);
}

/** The Problem that refuses an attempt; rejects when the attempt succeeds or throws another error. */
export async function refusalOf(attempt: Promise<unknown>): Promise<Problem> {
  const outcome = await attempt.then(
    () => 'accepted',
    (error: unknown) => error,
  );
  if (outcome instanceof Problem) return outcome;
  throw new Error(
    `The attempt did not reject with a Problem: correct it, or the code. Its outcome: ${String(outcome)}`,
  );
}

/** The code of {@link refusalOf}. */
export async function codeOf(attempt: Promise<unknown>): Promise<string> {
  return (await refusalOf(attempt)).code;
}

/** Sends an endless body as fast as the connection takes it. */
export function endless(_request: unknown, response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, 1);
  const send = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', send);
  send();
}
