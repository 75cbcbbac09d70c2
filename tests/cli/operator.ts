import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram, type Ended } from './runProgram.js';

/** The operator's program and a service on the same database, for the tests of a file. */
export interface Operator {
  readonly harness: Harness;
  readonly database: TestDatabase;
  readonly environment: Readonly<Record<string, string>>;
  run(...args: readonly string[]): Promise<Ended>;
  /** Runs a command with --json. @throws as {@link runJson} */
  json(...args: readonly string[]): Promise<any>;
  /** Creates a client of the tenant `lakeside-health`. */
  createClient(...args: readonly string[]): Promise<{ clientId: string; clientSecret: string; permissions: string[] }>;
  /** Whether the token endpoint would accept the secret now. */
  accepts(clientId: string, secret: string): Promise<boolean>;
}

/**
 * Opens the program and the service, and closes them after the tests.
 * @param role the database role of both
 */
export async function openOperator(
  role: 'owner' | 'service' = 'owner',
  options: HarnessOptions = {},
): Promise<Operator> {
  const database = await createTestDatabase();
  const databaseUrl = role === 'owner' ? database.url : database.serviceUrl;
  const harness = await startHarness({ ...options, databaseUrl });
  const environment = { DATABASE_URL: databaseUrl, DATA_DIR: harness.dataDir, USER: 'alice' };
  afterAll(() => harness.close().then(database.drop));
  const json = (...args: readonly string[]) => runJson(environment, ...args);
  return {
    ...{ harness, database, environment, json },
    run: (...args) => runProgram(environment, ...args),
    createClient: (...args) => json('client', 'create', '--tenant', 'lakeside-health', ...args),
    async accepts(clientId, secret) {
      const { apiClient } = harness.domain.db.prisma;
      const client = await apiClient.findFirst({ where: { clientId }, include: { secrets: true } });
      const live = (client?.secrets ?? []).filter(({ expiresAt }) => expiresAt === null || expiresAt > new Date());
      return live.some(({ secretHash }) => Buffer.from(secretHash).equals(hashClientSecret(secret)));
    },
  };
}

/** A failure without output: its exit code, and its message on standard error. */
export const refusal = (code: number, message: string | RegExp) => ({
  code,
  stdout: '',
  stderr: typeof message === 'string' ? message : expect.stringMatching(message),
});
