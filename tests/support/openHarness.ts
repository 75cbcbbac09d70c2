import { startHarness, type Harness, type HarnessOptions } from './harness.js';

/** Starts the service while a test file loads, and closes it after the tests of the file. */
export async function openHarness(options?: HarnessOptions): Promise<Harness> {
  const harness = await startHarness(options);
  afterAll(() => harness.close());
  return harness;
}
