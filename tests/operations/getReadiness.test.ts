import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ObjectStore } from '../../src/adapters/objectStore.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem, withoutDatabase } from '../support/refusals.js';

let harness: Harness;
let stopping = false;
beforeAll(async () => {
  harness = await startHarness({ change: (services) => Object.assign(services, { isStopping: () => stopping }) });
});
afterAll(() => harness.close());

const getReadiness = (): Promise<Answer> => call(harness, 'GET /readyz');
const ready = { status: 'ready', checks: { database: 'ok', objectStore: 'ok' } };

describe('200', () => {
  it('answers anybody while database and object store work', async () => {
    const { status, body } = await getReadiness();
    expect([status, body]).toEqual([200, ready]);
  });
});

describe('400', () => {
  it('refuses a query, which the contract does not know', async () => {
    expectProblem(await call(harness, 'GET /readyz?deep=true'), 400, 'validation_failed', [{ parameter: 'deep' }]);
  });
});

describe('503', () => {
  /** The body of the contract, not a problem; says when to come back; and is over when the cause is. */
  async function expectUnavailable(
    checks: object,
    whileDown: (work: () => Promise<Answer>) => Promise<Answer>,
  ): Promise<void> {
    const { status, headers, body } = await whileDown(getReadiness);
    expect(body).toEqual({ status: 'unavailable', checks });
    expect(status).toBe(503);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
    expect((await getReadiness()).body).toEqual(ready);
  }

  it('names the database while it is down', async () => {
    await expectUnavailable({ database: 'failing', objectStore: 'ok' }, (work) => withoutDatabase(harness, work));
  });

  it('names the object store while its folder is gone', async () => {
    const documents = join(harness.dataDir, 'documents');
    await expectUnavailable({ database: 'ok', objectStore: 'failing' }, async (work) => {
      await rename(documents, `${documents}.gone`);
      return work().finally(() => rename(`${documents}.gone`, documents));
    });
  });

  it('does not wait for an object store that never answers', async () => {
    const { objects } = harness.services;
    const silent: ObjectStore = { ...objects, check: () => new Promise(() => undefined) };
    await expectUnavailable({ database: 'ok', objectStore: 'failing' }, async (work) => {
      Object.assign(harness.services, { objects: silent });
      return work().finally(() => Object.assign(harness.services, { objects }));
    });
  });

  it('names every part that is down', async () => {
    const documents = join(harness.dataDir, 'documents');
    await expectUnavailable({ database: 'failing', objectStore: 'failing' }, async (work) => {
      await rename(documents, `${documents}.gone`);
      return withoutDatabase(harness, work).finally(() => rename(`${documents}.gone`, documents));
    });
  });

  it('sends traffic elsewhere while the process is stopping, although every part works', async () => {
    await expectUnavailable({ database: 'ok', objectStore: 'ok' }, (work) => {
      stopping = true;
      return work().finally(() => {
        stopping = false;
      });
    });
  });
});
