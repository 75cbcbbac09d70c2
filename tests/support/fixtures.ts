import { createTestDatabase, type TestDatabase } from './postgres.js';
import { openStage, type Stage } from './stage.js';

// Each opens its object before the tests of a file, fills in the members then, and closes it after the tests.

export function useStage(): Stage {
  const stage = {} as Stage;
  beforeAll(async () => void Object.assign(stage, await openStage()));
  afterAll(() => stage.close());
  return stage;
}

export function useDatabase(): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => void Object.assign(database, await createTestDatabase()));
  afterAll(() => database.drop());
  return database;
}
