import process from 'node:process';

/**
 * Guard what few changes touch: kills, hang-ups, the lab, backups, other programs, packages and their
 * licenses, the runner of tests, the contract's patterns, the rendered reference, its samples. CI has no time for them;
 * `make slow-tests` runs them, and so does a command that names tests.
 */
const slow = [
  'tests/client/(generators|package)',
  'tests/consumer/(dynamicMock|postman|samples)',
  'tests/contract/(linters|patterns|reference(Page|Run|Search))',
  'tests/lab/consistency',
  'tests/system/(alerts|auditCrash|backup|backupPlaces|commits|databaseTls|failover|fullDisk|handbook|hangUps|kit|pointInTime|scheduled)\\.',
  'tests/system/(supplyChain|testRunner)\\.',
  'tests/system/(s3Start|standardOutput|tracing|uploadCrash|workbench)\\.',
];
const namesTests = process.argv.some((argument) => /^tests\/(?!jest)/.test(argument));
/**
 * Without a cluster of Citus (`make test-citus`), its own tests have nothing to test. On one, those are left out that
 * count the rows in a plan of PostgreSQL: for nodes, Citus returns the text of EXPLAIN ANALYZE instead of JSON.
 */
const rowsInPlans = ['tests/domain/encounters/encounterListCost'];
const citus = process.env['TEST_CITUS'] === undefined ? ['tests/citus/'] : rowsInPlans;
const runsSlow = process.env['SLOW'] === '1' && !namesTests;

export default {
  rootDir: '..',
  roots: ['<rootDir>/tests'],
  testRegex: runsSlow ? slow.map((path) => `${path}.*test\\.ts$`) : ['\\.test\\.ts$'],
  testPathIgnorePatterns: ['/node_modules/', ...citus, ...(runsSlow || namesTests ? [] : slow)],
  runner: '<rootDir>/tests/support/runner.js',
  // Two more than CI has cores: there are always files that wait for a process or a browser.
  maxWorkers: 4,
  globalSetup: '<rootDir>/tests/support/globalSetup.js',
  globalTeardown: '<rootDir>/tests/support/globalTeardown.js',
};
