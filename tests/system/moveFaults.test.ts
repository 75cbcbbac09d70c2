import { closeTenant, lockMove, noteCell, setPlace } from '../../src/adapters/cells/places.js';
import { addFence, nameOfMove } from '../../src/adapters/cells/replication.js';
import { tenantTables } from '../../src/adapters/cells/tenantTables.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { cancelMove, forgetTenant, moveTenant } from '../../src/cli/cells/move.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { examine } from '../cli/installation.js';
import { runProgram } from '../cli/runProgram.js';
import { moveAtOnce, suiteOfMoves, useCells, type CellOfTest } from '../support/cells.js';
import { newPartner } from '../support/factories.js';
import { rowsOf } from '../support/migrations.js';
import { logEverything } from '../support/postgresLog.js';

suiteOfMoves('tenant move', () => {
  const cells = useCells();
  const environmentOf = ({ database, baseUrl, dataDir }: CellOfTest) => ({
    ...{ DATABASE_URL: database.serviceUrl, BASE_URL: baseUrl, DATA_DIR: dataDir, USER: 'alice' },
  });
  const command = (more: Readonly<Record<string, string>>, ...args: string[]) =>
    runProgram(
      { ...environmentOf(cells.a), DATABASE_URL: cells.urls.from, MOVE_TO_URL: cells.urls.to, ...more },
      ...['tenant', 'move', ...args],
    );
  const cancel = (tenantId: string) => cancelMove(cells.urls, tenantId, moveAtOnce.log);
  const findings = async (cell: CellOfTest) =>
    (await examine({ environment: environmentOf(cell) })).faults.filter(({ check }) => check === 'moves');
  const inBoth = async () => [await findings(cells.a), await findings(cells.b)];
  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  it('leaves parts that doctor finds in both cells until the named command cancels the move', async () => {
    const { from, to } = cells.urls;
    const { tenantId } = await newPartner(cells.a);
    expect(await inBoth()).toEqual([[], []]);
    await rowsOf(
      to,
      `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name = 0; RETURN NEW; END'`,
    );
    await rowsOf(to, 'CREATE TRIGGER damage BEFORE INSERT ON api_client FOR EACH ROW EXECUTE FUNCTION damage()');
    await rowsOf(to, 'ALTER TABLE api_client ENABLE ALWAYS TRIGGER damage');
    await expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('The copy of api_client differs.');
    await rowsOf(to, 'DROP FUNCTION damage CASCADE');

    const name = nameOfMove(tenantId);
    const found = (parts: string) => ({
      ...{ check: 'moves', level: 'warning' },
      message: expect.stringMatching(`^The move of ${tenantId} has stopped. It left: ${parts}\\.`),
      remedy: expect.stringContaining(`"ces tenant move ${tenantId} --cancel"`),
    });
    expect(await inBoth()).toEqual([
      [found(`slot ${name}_\\d+, publication ${name}`)],
      [found(`subscription ${name}`)],
    ]);
    // A running command has these locks.
    await withClient({ connectionString: from }, (source) =>
      withClient({ connectionString: to }, async (target) => {
        for (const side of [source, target]) await lockMove(side, tenantId);
        expect(await inBoth()).toEqual([[], []]);
      }),
    );
    expect(await command({}, tenantId, '--cancel', '--yes')).toMatchObject({ code: 0, stderr: '' });
    expect(await inBoth()).toEqual([[], []]);
  });

  it('is not complete for doctor and forget until the audit is copied, and not cancelled until the copy is deleted', async () => {
    const { from, to } = cells.urls;
    const { tenantId } = await newPartner(cells.a);
    const remains = {
      check: 'moves',
      message: expect.stringContaining(`It left: publication ${nameOfMove(tenantId)}.`),
    };
    const refuse = async (event: string, table: string, work: () => Promise<unknown>) => {
      await rowsOf(
        to,
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`,
      );
      await rowsOf(to, `CREATE TRIGGER refuse BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await expect(work()).rejects.toThrow('refused');
      await rowsOf(to, 'DROP FUNCTION refuse CASCADE');
      expect(await inBoth()).toEqual([[expect.objectContaining(remains)], []]);
    };
    // An update of the place as active fails, so that the move can be cancelled.
    await rowsOf(to, 'ALTER TABLE tenant_cell ADD CONSTRAINT not_here CHECK (place <> $$here$$)');
    await expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('not_here');
    await rowsOf(to, 'ALTER TABLE tenant_cell DROP CONSTRAINT not_here');
    // The cancellation died before it ended the replication: deleted rows would arrive again.
    await rowsOf(to, `UPDATE tenant_cell SET place = 'away' WHERE tenant_id = '${tenantId}'`);
    const again = () =>
      expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('its cancellation, has not');
    await again();
    await expect(forgetTenant(to, tenantId, false, moveAtOnce.log)).rejects.toThrow('repeat or cancel it first');
    await refuse('DELETE', 'api_client', () => cancel(tenantId));
    await again();
    await cancel(tenantId);
    expect(await inBoth()).toEqual([[], []]);

    await refuse('INSERT', 'audit_event', () => moveTenant(cells.urls, tenantId, moveAtOnce));
    const forget = () => forgetTenant(from, tenantId, true, moveAtOnce.log);
    await expect(forget()).rejects.toThrow('is not complete');
    const { audit } = await moveTenant(cells.urls, tenantId, moveAtOnce);
    expect(audit).toBeGreaterThan(0);
    expect(await inBoth()).toEqual([[], []]);
    await expect(forget()).resolves.toBe(0);
  });

  it('can be cancelled without the other cell when that no longer exists', async () => {
    const { from, to } = cells.urls;
    const { tenantId } = await newPartner(cells.a);
    await rowsOf(to, 'ALTER TABLE tenant_cell ADD CONSTRAINT not_here CHECK (place <> $$here$$) NOT VALID');
    await expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('not_here');
    await rowsOf(to, 'ALTER TABLE tenant_cell DROP CONSTRAINT not_here');
    const lost = (...more: string[]) => command({ MOVE_TO_URL: '' }, tenantId, '--target-lost', '--yes', ...more);
    expect((await lost('--dry-run')).stdout).toMatch('can be cancelled');
    expect(await findings(cells.a)).toHaveLength(1);
    expect(await lost()).toMatchObject({ code: 0, stderr: '' });
    expect(await findings(cells.a)).toEqual([]);
    const remains = `SELECT slot_name FROM pg_replication_slots WHERE database = current_database()
      UNION ALL SELECT tgname FROM pg_trigger WHERE tgname LIKE '${nameOfMove(tenantId)}%'`;
    expect(await rowsOf(from, remains)).toEqual([]);
    const place = `SELECT cell, place::text FROM tenant_cell WHERE tenant_id = '${tenantId}'`;
    expect(await rowsOf(from, place)).toEqual([{ cell: 'a', place: 'here' }]);
    expect((await lost()).stderr).toMatch('There is nothing to cancel');
    await cancel(tenantId);
  });

  it('waits for a lock of a request, and copies between databases with different time zones and date styles', async () => {
    const { from, to } = cells.urls;
    const { tenantId } = await newPartner(cells.a);
    await rowsOf(to, `ALTER DATABASE ${nameOf(to)} SET timezone = 'Asia/Kathmandu'`);
    await rowsOf(to, `ALTER DATABASE ${nameOf(to)} SET datestyle = 'SQL, DMY'`);
    await withClient({ connectionString: from }, async (request) => {
      await request.query('BEGIN; LOCK TABLE client IN ROW EXCLUSIVE MODE');
      const log = (text: string): void => {
        if (text.includes('waits for a lock')) void request.query('COMMIT');
      };
      await moveTenant(cells.urls, tenantId, { ...moveAtOnce, log });
    });
    const audit = `SELECT extract(epoch FROM at)::text AS at, operation_id FROM audit_event WHERE tenant_id = '${tenantId}' AND at < '2026-11-21' ORDER BY 1, 2`;
    const moved = await rowsOf(to, audit);
    expect(moved.length).toBeGreaterThan(0);
    expect(moved).toEqual(await rowsOf(from, audit));
    await rowsOf(to, `ALTER DATABASE ${nameOf(to)} RESET ALL`);
  });

  it('ends instead of waiting forever when the source no longer keeps the changes, and can be cancelled', async () => {
    const { from, to } = cells.urls;
    const { tenantId } = await newPartner(cells.a);
    const drop = `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
      WHERE database = current_database() AND NOT active`;
    await withClient({ connectionString: to }, async (holder) => {
      // The slot is lost before the target can follow it.
      await holder.query('BEGIN; LOCK TABLE pg_subscription IN SHARE MODE');
      const move = expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow('no longer keeps the changes');
      while ((await rowsOf(from, drop).catch(() => [])).length === 0);
      await holder.query('COMMIT');
      await move;
    });
    await cancel(tenantId);
    expect(await rowsOf(to, `SELECT FROM client WHERE tenant_id = '${tenantId}'`)).toEqual([]);
  });

  it('lets the request complete and reports the wait when the closing and a request lock each other', async () => {
    const { tenantId } = await newPartner(cells.a);
    const connectionString = cells.urls.from;
    await withClient({ connectionString }, async (client) => {
      await noteCell(client, { name: 'b', url: '', object_store: '' });
      await setPlace(client, tenantId, [null], 'leaving', 'b');
      await addFence(client, await tenantTables(client), tenantId, moveAtOnce.log);
      await withClient({ connectionString }, async (request) => {
        await request.query(`BEGIN; SET LOCAL deadlock_timeout = '1min'`);
        await request.query('SELECT FROM tenant WHERE id = $1 FOR UPDATE', [tenantId]);
        const closing = expect(closeTenant(client, tenantId)).rejects.toThrow('Repeat the move after it');
        const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        while ((await rowsOf(connectionString, waiting)).length === 0);
        await request.query(`UPDATE tenant SET name = 'Renamed' WHERE id = $1`, [tenantId]);
        await request.query('COMMIT');
        await closing;
      });
      await setPlace(client, tenantId, ['leaving'], 'here', 'a');
    });
    const named = `SELECT name FROM tenant WHERE id = '${tenantId}'`;
    expect(await rowsOf(connectionString, named)).toEqual([{ name: 'Renamed' }]);
  });

  it('refuses a target that has a tenant with this id, and changes neither database', async () => {
    const { tenantId } = await newPartner(cells.a);
    await createTenant(cells.b.domain, { id: tenantId, name: `Another ${tenantId}`, mode: 'live' });
    await expect(moveTenant(cells.urls, tenantId, moveAtOnce)).rejects.toThrow(
      `The target has rows of ${tenantId} in tenant`,
    );
    const places = `SELECT FROM tenant_cell WHERE tenant_id = '${tenantId}'`;
    expect([await rowsOf(cells.urls.from, places), await rowsOf(cells.urls.to, places)]).toEqual([[], []]);
    expect(await rowsOf(cells.urls.from, 'SELECT FROM pg_publication')).toEqual([]);
  });

  it('prints and logs no password when one PostgreSQL does not accept it', async () => {
    const { tenantId } = await newPartner(cells.a);
    const wrong = (url: string) => Object.assign(new URL(url), { password: 'secret-4711' }).href;
    const logs = await Promise.all(Object.values(cells.urls).map(logEverything));
    const ended = [
      await command({ MOVE_TO_URL: wrong(cells.urls.to) }, tenantId, '--yes'),
      await command({ DATABASE_OWNER_URL: wrong(cells.urls.from) }, tenantId, '--yes'),
      await command({ MOVE_VIA_URL: wrong(cells.urls.from) }, tenantId, '--yes'),
    ];
    for (const { code, stderr } of ended) {
      expect([code, stderr]).toEqual([1, expect.stringContaining('password authentication failed')]);
    }
    await cancel(tenantId);
    const printed = [
      ...ended.map((each) => JSON.stringify(each)),
      ...(await Promise.all(logs.map(async (read) => read?.()))),
    ];
    const { password } = new URL(cells.urls.from);
    for (const text of printed) expect(text).not.toMatch(new RegExp(`secret-4711|${password}`));
  });
});
