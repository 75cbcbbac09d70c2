import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';
import { killServers } from './serverProcess.js';

/** A database and a folder for processes of the service. */
export interface Stage {
  readonly database: TestDatabase;
  /** A connection of the test to the database. */
  readonly db: Database;
  readonly dataDir: string;
  /** The variables that name database and folder. The role of DATABASE_URL owns the schema. */
  readonly environment: { readonly DATABASE_URL: string; readonly DATA_DIR: string };
  /** Kills the processes of this test file, then removes database and folder. */
  close(): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const [database, dataDir] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), 'ces-stage-'))]);
  const db = openDatabase(database.url);
  const close = async (): Promise<void> => {
    await killServers();
    await db.close();
    await database.drop();
    await rm(dataDir, { recursive: true });
  };
  return { database, db, dataDir, environment: { DATABASE_URL: database.url, DATA_DIR: dataDir }, close };
}

/** {@link startStage}, closed after the tests of the file. */
export async function openStage(): Promise<Stage> {
  const stage = await startStage();
  afterAll(() => stage.close());
  return stage;
}
