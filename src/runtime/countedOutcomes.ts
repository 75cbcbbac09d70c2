import type { Downloader } from '../adapters/download/downloader.js';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import { metrics } from '../telemetry.js';
import { Problem } from '../problem.js';

/** The store with its calls counted by outcome, if anything is counted. */
export function countedStore(store: ObjectStore): ObjectStore {
  const calls = metrics?.storeCalls;
  if (!calls) return store;
  const count = <T>(call: string, work: Promise<T>): Promise<T> =>
    counted(work, (outcome) => calls.inc({ call, outcome }));
  return {
    ...store,
    put: (...args) => count('put', store.put(...args)),
    remove: (...args) => count('remove', store.remove(...args)),
    removeUnfinished: (...args) => count('removeUnfinished', store.removeUnfinished(...args)),
    check: () => count('check', store.check()),
  };
}

/** The downloader with what became of each document counted: what ends an upload ends its fetch. */
export function countedDownloads(download: Downloader): Downloader {
  const fetches = metrics?.documentFetches;
  if (!fetches) return download;
  return (url, limits, use) => counted(download(url, limits, use), (outcome) => fetches.inc({ outcome }));
}

/** Counts "ok", or the code of the problem that ended the work. */
async function counted<T>(work: Promise<T>, count: (outcome: string) => void): Promise<T> {
  try {
    const result = await work;
    count('ok');
    return result;
  } catch (error) {
    count(error instanceof Problem ? error.code : 'internal_error');
    throw error;
  }
}
