export default {
  rootDir: '..',
  roots: ['<rootDir>/tests'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: 'node',
  testTimeout: 30_000,
  maxWorkers: 2,
  globalSetup: '<rootDir>/tests/support/globalSetup.js',
  globalTeardown: '<rootDir>/tests/support/globalTeardown.js',
  reporters: ['default', '<rootDir>/tests/support/statusReporter.js'],
  extensionsToTreatAsEsm: ['.ts'],
  // TypeScript's NodeNext imports name the compiled file.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', {
      swcrc: false,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2023', transform: { verbatimModuleSyntax: true } },
      module: { type: 'es6' },
    }],
  },
};
