import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operations } from '../support/contract.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { isFullRun, notedStatuses, statusFaults, statusFolderVariable, type RunOptions } from '../support/statuses.js';

// statusReporter.js checks after all tests that every declared status was seen. Here its parts are tested.

const allRun: RunOptions = {
  nonFlagArgs: [],
  testPathPatterns: { patterns: [] },
  onlyChanged: false,
  onlyFailures: false,
};

describe('after a run of all tests', () => {
  const declared = [{ operationId: 'getPatient', statuses: [200, 404] }];

  it('reports every declared status that no test has seen', () => {
    expect(statusFaults(declared, new Set(['getPatient 200']), [])).toEqual(['no test has seen getPatient 404']);
  });

  it('reports no fault when every status was seen or is on the allow-list', () => {
    expect(statusFaults(declared, new Set(['getPatient 200', 'getPatient 404']), [])).toEqual([]);
    expect(statusFaults(declared, new Set(['getPatient 200']), ['getPatient 404'])).toEqual([]);
  });

  it('reports entries of the allow-list that were seen or are not declared', () => {
    const seen = new Set(['getPatient 200', 'getPatient 404']);
    expect(statusFaults(declared, seen, ['getPatient 404'])).toEqual(['getPatient 404 was seen: take it off the list']);
    expect(statusFaults(declared, seen, ['getPatient 410'])).toEqual([
      'getPatient 410 is not declared: take it off the list',
    ]);
  });
});

describe('isFullRun', () => {
  it('accepts a run of all tests', () => {
    expect(isFullRun(allRun)).toBe(true);
  });

  it.each<[string, Partial<RunOptions>]>([
    ['files', { nonFlagArgs: ['tests/contract'] }],
    ['a pattern of paths', { testPathPatterns: { patterns: ['contract'] } }],
    ['a pattern of names', { testNamePattern: '404' }],
    ['changed files', { onlyChanged: true }],
    ['failed files', { onlyFailures: true }],
    ['a shard', { shard: { shardIndex: 1, shardCount: 2 } }],
  ])('rejects a run of %s', (_part, options) => {
    expect(isFullRun({ ...allRun, ...options })).toBe(false);
  });
});

it('the allow-list holds only statuses that the contract declares', async () => {
  const allowed: unknown = JSON.parse(await readFile(new URL('unseenStatuses.json', import.meta.url), 'utf8'));
  const declared = operations.flatMap(({ operationId, statuses }) =>
    statuses.map((status) => `${operationId} ${status}`),
  );
  expect(declared).toEqual(expect.arrayContaining(allowed as string[]));
});

it('notes every response, from the operation, the validation or the error handler', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ces-statuses-'));
  const before = process.env[statusFolderVariable];
  process.env[statusFolderVariable] = folder;
  const harness = await startHarness();
  await call(harness, 'GET /healthz');
  await call(harness, 'GET /healthz?nonsense=1');
  await call(harness, 'GET /clinics');
  await call(harness, 'GET /no/such/path');
  await harness.close();
  process.env[statusFolderVariable] = before ?? '';
  expect([...notedStatuses(folder)].sort()).toEqual(['getLiveness 200', 'getLiveness 400', 'listClinics 401']);
  await rm(folder, { recursive: true });
});
