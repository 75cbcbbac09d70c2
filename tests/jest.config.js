export default {
  rootDir: '..',
  roots: ['<rootDir>/tests'],
  testMatch: ['**/*.test.ts'],
  // Plain Node instead of a sandbox for each file: the service is loaded once per worker, not once per file.
  runner: '<rootDir>/tests/support/runner.js',
  // Two more than CI has cores: there are always files that wait for a process or a browser.
  maxWorkers: 4,
  testSequencer: '<rootDir>/tests/support/systemFirst.js',
  setupFiles: ['<rootDir>/tests/support/setup.js'],
  globalSetup: '<rootDir>/tests/support/globalSetup.js',
  globalTeardown: '<rootDir>/tests/support/globalTeardown.js',
  reporters: ['default', '<rootDir>/tests/support/statusReporter.js', '<rootDir>/tests/support/stuckReporter.js'],
};
