import { lockMove } from '../../src/adapters/cells/places.js';
import { nameOfMove } from '../../src/adapters/cells/replication.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { moveTenant } from '../../src/cli/cells/move.js';
import { examine } from '../cli/installation.js';
import { runProgram } from '../cli/runProgram.js';
import { moveAtOnce, suiteOfMoves, useCells, type CellOfTest } from '../support/cells.js';
import { newPartner } from '../support/factories.js';
import { rowsOf } from '../support/migrations.js';

suiteOfMoves('a move that has stopped', () => {
  const cells = useCells();
  /** Stops a move before the target is active. */
  const stopMove = async (tenantId: string): Promise<void> => {
    const { to } = cells.urls;
    await rowsOf(
      to,
      `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name = 0; RETURN NEW; END'`,
    );
    await rowsOf(to, 'CREATE TRIGGER damage BEFORE INSERT ON api_client FOR EACH ROW EXECUTE FUNCTION damage()');
    await rowsOf(to, 'ALTER TABLE api_client ENABLE ALWAYS TRIGGER damage');
    await expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('The copy of api_client differs.');
    await rowsOf(to, 'DROP FUNCTION damage CASCADE');
  };
  const environmentOf = ({ database, baseUrl, dataDir }: CellOfTest) => ({
    ...{ DATABASE_URL: database.serviceUrl, BASE_URL: baseUrl, DATA_DIR: dataDir, USER: 'alice' },
  });
  const findings = async (cell: CellOfTest) =>
    (await examine({ environment: environmentOf(cell) })).faults.filter(({ check }) => check === 'moves');

  it('is found by doctor in both cells until the named command cancels it', async () => {
    const { tenantId } = await newPartner(cells.a);
    expect([await findings(cells.a), await findings(cells.b)]).toEqual([[], []]);
    await stopMove(tenantId);
    const name = nameOfMove(tenantId);
    const command = `ces tenant move ${tenantId} --cancel`;
    const found = (parts: string) => ({
      ...{
        check: 'moves',
        level: 'warning',
        message: expect.stringMatching(`^The move of ${tenantId} has stopped. It left: ${parts}\\.`),
      },
      remedy: expect.stringContaining(`"${command}"`),
    });
    expect(await findings(cells.a)).toEqual([found(`slot ${name}_\\d+, publication ${name}`)]);
    expect(await findings(cells.b)).toEqual([found(`subscription ${name}`)]);
    for (const { database } of [cells.a, cells.b]) {
      await withClient({ connectionString: database.url }, async (client) => {
        await lockMove(client, tenantId);
        expect(await findings(database === cells.a.database ? cells.a : cells.b)).toEqual([]);
      });
    }
    const environment = { ...environmentOf(cells.a), DATABASE_URL: cells.urls.from, MOVE_TO_URL: cells.urls.to };
    expect(await runProgram(environment, ...command.split(' ').slice(1), '--yes')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect([await findings(cells.a), await findings(cells.b)]).toEqual([[], []]);
  }, 30_000);
});
