import { Client } from 'pg';
import { startHarness, type Harness, type HarnessOptions } from './harness.js';
import { createTestDatabase } from './postgres.js';

/** The service, and a session beside it that reads plans, takes locks and adds triggers. */
export interface ObservedHarness {
  readonly harness: Harness;
  readonly observer: Client;
  readonly databaseUrl: string;
  close(): Promise<void>;
}

/** {@link startHarness} with a superuser's session in its database. */
export async function startObservedHarness(options: HarnessOptions = {}): Promise<ObservedHarness> {
  const { url: databaseUrl, drop } = await createTestDatabase();
  const harness = await startHarness({ ...options, databaseUrl });
  const observer = new Client({ connectionString: databaseUrl });
  await observer.connect();
  const close = async (): Promise<void> => {
    await observer.end();
    await harness.close();
    await drop();
  };
  return { harness, observer, databaseUrl, close };
}

/** {@link startObservedHarness}, closed after the tests of the file. */
export async function openObservedHarness(options?: HarnessOptions): Promise<ObservedHarness> {
  const opened = await startObservedHarness(options);
  afterAll(() => opened.close());
  return opened;
}
