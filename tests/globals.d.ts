import type * as Jest from '@jest/globals';

/** The functions that the runner puts on the global object and that tests use. */
declare global {
  const afterAll: typeof Jest.afterAll;
  const afterEach: typeof Jest.afterEach;
  const beforeAll: typeof Jest.beforeAll;
  const beforeEach: typeof Jest.beforeEach;
  const describe: typeof Jest.describe;
  const expect: typeof Jest.expect;
  const it: typeof Jest.it;
}
