import { registerCell } from '../../src/runtime/ownCell.js';
import { temporaryFolder } from './folder.js';
import { startHarness, type Harness } from './harness.js';
import { rowsOf } from './migrations.js';
import { isThere } from './optional.js';
import { adminUrl, createTestDatabase, type TestDatabase } from './postgres.js';

const [{ level } = { level: '' }] = await rowsOf(adminUrl(), `SELECT current_setting('wal_level') AS level`);
const isLogical =
  level === 'logical' || isThere(false, 'moves of tenants', 'TEST_DATABASE_URL needs wal_level=logical.');

/** Tests that move tenants. */
export const suiteOfMoves = isLogical ? describe : describe.skip;

export interface CellOfTest extends Harness {
  readonly database: TestDatabase;
}

/** Two cells for the tests of a file, which can move tenants from `a` to `b`. */
export interface CellsOfTest {
  readonly a: CellOfTest;
  readonly b: CellOfTest;
  /** Their databases, by the address of the owner. */
  readonly urls: { readonly from: string; readonly to: string };
  /** The object store of both. */
  readonly folder: ReturnType<typeof temporaryFolder>;
}

/** The clocks of the harness stand still, so that there is no cache to wait for: the tests let it expire. */
export const moveAtOnce = { log: () => undefined, settleSeconds: 0 };

/** Starts two cells before the tests of a file, when the members are filled in, and closes them after the tests. */
export function useCells(): CellsOfTest {
  const folder = temporaryFolder();
  const cells = { folder } as { -readonly [Name in keyof CellsOfTest]: CellsOfTest[Name] };
  const newCell = async (name: string): Promise<CellOfTest> => {
    const database = await createTestDatabase();
    // Tests let the clocks run ahead, by days if a move takes long.
    const environment = { CELL: name, DATA_DIR: folder(), ACCESS_TOKEN_TTL: '2592000' };
    const harness = await startHarness({ databaseUrl: database.serviceUrl, environment });
    await registerCell(harness.domain.db, { ...harness.services.config, baseUrl: harness.baseUrl });
    return { ...harness, database };
  };
  beforeAll(async () => {
    const [a, b] = [await newCell('a'), await newCell('b')];
    Object.assign(cells, { a, b, urls: { from: a.database.url, to: b.database.url } });
  });
  afterAll(async () => {
    // A slot or subscription that a failed test left prevents the drop, but must not keep the servers running.
    for (const { close } of [cells.a, cells.b]) await close();
    for (const { database } of [cells.a, cells.b]) await database.drop();
  });
  return cells;
}
