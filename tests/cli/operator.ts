import { hashClientSecret } from '../../src/domain/access/clientSecrets.js';
import { startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { createTestDatabase } from '../support/postgres.js';
import { runJson, runProgram, type Ended } from './runProgram.js';

/** The operator's program and a service on the same database. */
export interface Operator {
  readonly harness: Harness;
  /** The address of the superuser. */
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  run(...args: readonly string[]): Promise<Ended>;
  /** Runs a command with --json; throws when it fails. */
  json(...args: readonly string[]): Promise<any>;
  /** Creates a client of the tenant `lakeside-health`. */
  createClient(...args: readonly string[]): Promise<{ clientId: string; clientSecret: string; permissions: string[] }>;
  /** Whether the token endpoint would accept the secret now. */
  accepts(clientId: string, secret: string): Promise<boolean>;
  close(): Promise<void>;
}

/** @param role whose rights both have on the database */
export async function openOperator(
  role: 'owner' | 'service' = 'owner',
  options: HarnessOptions = {},
): Promise<Operator> {
  const database = await createTestDatabase();
  const url = role === 'owner' ? database.url : database.serviceUrl;
  const harness = await startHarness({ ...options, databaseUrl: url });
  const environment = { DATABASE_URL: url, DATA_DIR: harness.dataDir, USER: 'alice' };
  const json = (...args: readonly string[]) => runJson(environment, ...args);
  return {
    harness,
    databaseUrl: database.url,
    environment,
    run: (...args) => runProgram(environment, ...args),
    json,
    createClient: (...args) => json('client', 'create', '--tenant', 'lakeside-health', ...args),
    async accepts(clientId, secret) {
      const { apiClient } = harness.domain.db.prisma;
      const client = await apiClient.findUnique({ where: { clientId }, include: { secrets: true } });
      const live = (client?.secrets ?? []).filter(({ expiresAt }) => expiresAt === null || expiresAt > new Date());
      return live.some(({ secretHash }) => Buffer.from(secretHash).equals(hashClientSecret(secret)));
    },
    close: () => harness.close().then(database.drop),
  };
}

/** A failure without output: its exit code, and its message on standard error. */
export const refusal = (code: number, message: string | RegExp) => ({
  code,
  stdout: '',
  stderr: typeof message === 'string' ? message : expect.stringMatching(message),
});
