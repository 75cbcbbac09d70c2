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
  const seenAnd = (allowed: string, fault: string): [string[], string[], string[]] => [
    ['getPatient 200', 'getPatient 404'],
    [allowed],
    [`${allowed} ${fault}: take it off the list`],
  ];

  it.each<[string, string[], string[], string[]]>([
    ['a declared status that no test has seen', ['getPatient 200'], [], ['no test has seen getPatient 404']],
    ['no fault when all were seen', ['getPatient 200', 'getPatient 404'], [], []],
    ['no fault when the others are on the allow-list', ['getPatient 200'], ['getPatient 404'], []],
    ['an allowed status that was seen', ...seenAnd('getPatient 404', 'was seen')],
    ['an allowed status that is not declared', ...seenAnd('getPatient 410', 'is not declared')],
  ])('reports %s', (_fault, seen, allowed, faults) => {
    expect(statusFaults(declared, new Set(seen), allowed)).toEqual(faults);
  });
});

describe('isFullRun', () => {
  it.each<[string, Partial<RunOptions>]>([
    ['files', { nonFlagArgs: ['tests/contract'] }],
    ['a pattern of paths', { testPathPatterns: { patterns: ['contract'] } }],
    ['a pattern of names', { testNamePattern: '404' }],
    ['changed files', { onlyChanged: true }],
    ['failed files', { onlyFailures: true }],
    ['a shard', { shard: { shardIndex: 1, shardCount: 2 } }],
  ])('accepts a run of all tests and rejects one of %s', (_part, options) => {
    expect([isFullRun(allRun), isFullRun({ ...allRun, ...options })]).toEqual([true, false]);
  });
});

it('the allow-list of unseen statuses names only statuses that the contract declares', async () => {
  const allowed: unknown = JSON.parse(await readFile(new URL('unseenStatuses.json', import.meta.url), 'utf8'));
  const declared = operations.flatMap(({ operationId, statuses }) =>
    statuses.map((status) => `${operationId} ${status}`),
  );
  expect(declared).toEqual(expect.arrayContaining(allowed as string[]));
});

it('the record of seen statuses has every response, whether from the operation, the validation or the error handler', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ces-statuses-'));
  const before = process.env[statusFolderVariable];
  process.env[statusFolderVariable] = folder;
  const harness = await startHarness();
  for (const path of ['/healthz', '/healthz?nonsense=1', '/clinics', '/no/such/path'])
    await call(harness, `GET ${path}`);
  await harness.close();
  process.env[statusFolderVariable] = before ?? '';
  expect([...notedStatuses(folder)].sort()).toEqual(['getLiveness 200', 'getLiveness 400', 'listClinics 401']);
  await rm(folder, { recursive: true });
});
