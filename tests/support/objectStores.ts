import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import express from 'express';
import { createFileLinks } from '../../src/adapters/objects/fileLinks.js';
import { openObjectStore } from '../../src/adapters/objects/openObjectStore.js';
import type { ObjectStore } from '../../src/adapters/objects/objectStore.js';
import { openSigningKeys } from '../../src/adapters/tokens/signingKeys.js';
import { fileRoutes } from '../../src/http/pages/files.js';
import { closeServer, listenOnLoopback } from './fileHost.js';

export { closeServer };

/** A store under test, and its content as seen from outside. */
export interface Subject {
  readonly store: ObjectStore;
  /** All stored and leftover objects. */
  leftovers(): Promise<string[]>;
  close(): Promise<void>;
}

/** A file store with the routes that serve its links. */
export interface FileSubject extends Subject {
  readonly origin: string;
}

/** Opens a file store and serves its links by the given clock. */
export async function openFileSubject(dataDir: string, now = () => new Date()): Promise<FileSubject> {
  const app = express();
  const { server, origin } = await listen(app);
  const create = { now: new Date(), newId: () => randomUUID() };
  const keys = await openSigningKeys(join(dataDir, 'keys.json'), create, () => undefined);
  const opened = await openObjectStore({
    dataDir,
    store: { kind: 'file' },
    links: createFileLinks(keys, () => origin),
  });
  // Replaces the rows of documents, from which the service takes name and type.
  const linked = new Map<string, { readonly fileName: string; readonly contentType: string }>();
  const link: ObjectStore['link'] = (key, object, ...rest) => {
    linked.set(key, object);
    return opened.link(key, object, ...rest);
  };
  const store: ObjectStore = { ...opened, link };
  app.use(
    '/files',
    fileRoutes(async (signed) => {
      const file = await store.openLink?.(signed, now());
      const document = file && linked.get(file.key);
      return file && document && { path: file.path, ...document };
    }),
  );
  const leftovers = () => filesBelow(join(dataDir, 'documents'));
  return { store, origin, leftovers, close: () => closeServer(server) };
}

/** Starts an HTTP server on loopback. */
export async function listen(listener: RequestListener): Promise<{ server: Server; origin: string }> {
  const server = createServer(listener);
  return { server, origin: `http://127.0.0.1:${await listenOnLoopback(server)}` };
}

/** The names of all files below a folder. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** A body of the given chunks. */
export function bodyOf(...chunks: (Uint8Array | string)[]): AsyncIterable<Uint8Array> {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}
