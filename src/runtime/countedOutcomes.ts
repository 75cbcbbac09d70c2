import type { Downloader } from '../adapters/download/downloader.js';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import { metrics } from '../telemetry.js';
import { Problem } from '../problem.js';

/** Counts the calls that change a store by outcome, if metrics are on. */
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
  };
}

/** Counts fetches of documents by outcome. An error in a later step of an upload ends the fetch and so counts, too. */
export function countedDownloads(download: Downloader): Downloader {
  const fetches = metrics?.documentFetches;
  if (!fetches) return download;
  return (url, limits, use) => counted(download(url, limits, use), (outcome) => fetches.inc({ outcome }));
}

/** Counts the outcome of a call: "ok", the code of its problem, or "internal_error". */
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
