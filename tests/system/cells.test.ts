import { closeTenant } from '../../src/adapters/cells/places.js';
import { nameOfMove } from '../../src/adapters/cells/replication.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { cancelMove, forgetTenant, moveTenant } from '../../src/cli/cells/move.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { expireDueEncounters } from '../../src/domain/sweeps/encounterDeadlines.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { runProgram } from '../cli/runProgram.js';
import { moveAtOnce, suiteOfMoves, useCells, type CellOfTest } from '../support/cells.js';
import { hasDebianPostgres } from '../support/debianPostgres.js';
import { feedPage } from '../support/events.js';
import { newEncounter, newPartner, newToken, patientBody, type Partner } from '../support/factories.js';
import type { Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';

suiteOfMoves('two cells', () => {
  const scene = useCells();
  const { folder } = scene;
  let { a, b, urls: cells } = scene;
  beforeAll(() => void ({ a, b, urls: cells } = scene));

  const atB = async (partner: Partner): Promise<Partner> => ({ ...partner, token: await newToken(b, partner) });
  const seal = async ({ domain, clock }: Harness) => {
    await addCheckpoints(domain);
    return verifyAudit({ ...domain, now: () => clock.now });
  };
  const credentials = ({ clientId, clientSecret }: Partner) => ({
    ...{ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
  });
  const leftovers = async () => [
    ...(await rowsOf(
      cells.from,
      `SELECT slot_name AS name FROM pg_replication_slots WHERE database = current_database()
       UNION ALL SELECT pubname FROM pg_publication`,
    )),
    ...(await rowsOf(
      cells.to,
      `SELECT subname AS name FROM pg_subscription JOIN pg_database ON pg_database.oid = subdbid
       WHERE datname = current_database()`,
    )),
  ];

  it('tenant move loses no write of the moving tenant, does not disturb another tenant, and keeps the cursors of both feeds valid', async () => {
    const [moving, staying] = [await newPartner(a), await newPartner(a)];
    const { encounter_id: before } = await newEncounter(a, moving);
    // The first number of each cell.
    expect((await newEncounter(b, await newPartner(b))).encounter_id).toBe(before);
    const { next_cursor: after } = await feedPage(a, moving);
    const acknowledged: string[] = [];
    const seen = { moving: new Set<number>(), staying: new Set<number>() };
    let isOver = false;
    const write = async (): Promise<void> => {
      for (let count = 0, [cell, { token }] = [a, moving]; !isOver;) {
        // Every request finds the cache of the server expired.
        cell.clock.advance(31);
        const headers = { 'Idempotency-Key': `patient ${count}` };
        const json = patientBody({ email: `jane${count}@example.com` });
        const { status, body } = await call(cell, 'POST /clients', { token, json, headers });
        seen.moving.add(status);
        if (status === 201) {
          acknowledged.push(body.user_id);
          count += 1;
        } else if (status === 401) [cell, { token }] = [b, await atB(moving)];
      }
    };
    const writeOther = async (): Promise<void> => {
      while (!isOver) {
        const json = patientBody();
        seen.staying.add((await call(a, 'POST /clients', { token: staying.token, json })).status);
      }
    };
    const writing = [write(), writeOther()];
    const [{ closedSeconds }] = await Promise.all([
      moveTenant(cells, moving.tenantId, moveAtOnce).finally(() => (isOver = true)),
      ...writing,
    ]);
    expect(closedSeconds).toBeGreaterThan(0);
    expect([...seen.staying]).toEqual([201]);
    expect([...seen.moving].filter((status) => ![201, 401, 503].includes(status))).toEqual([]);
    const stored = await rowsOf(cells.to, 'SELECT id FROM client ORDER BY created_at, id');
    expect(stored.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    const partner = await atB(moving);
    const events = [];
    for (let cursor = after, hasMore = true; hasMore;) {
      const page = await feedPage(b, partner, { cursor, limit: 100 });
      events.push(...page.data);
      [cursor, hasMore] = [page.next_cursor, page.has_more];
    }
    const created = events.filter(({ type }) => type === 'patient.created').map(({ data }) => data['user_id']);
    expect(created).toEqual(acknowledged);
    const { encounter_id: later } = await newEncounter(b, partner);
    expect(later).toBeGreaterThan(before);
    // Jobs work on the encounters where their tenant lives: those of the moved tenant and the first one of `b`.
    const later100Days = ({ domain, clock }: Harness) => ({
      ...domain,
      now: () => new Date(+clock.now + 100 * 86_400_000),
    });
    expect([await expireDueEncounters(later100Days(a)), await expireDueEncounters(later100Days(b))]).toEqual([0, 3]);
    expect(await leftovers()).toEqual([]);
    const audit = await rowsOf(cells.to, `SELECT FROM audit_event WHERE resource_id = '${before}'`);
    expect(audit.length).toBeGreaterThan(0);
    expect([await seal(a), await seal(b)]).toMatchObject([{ fault: null }, { fault: null }]);
  }, 30_000);

  it('tenant move reopens the tenant when the copy differs, and can then be cancelled, repeated and completed', async () => {
    const partner = await newPartner(a);
    const { tenantId, token } = partner;
    const create = (cell = a, by = token) => call(cell, 'POST /clients', { token: by, json: patientBody() });
    await rowsOf(
      cells.to,
      `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name = 0; RETURN NEW; END'`,
    );
    await rowsOf(cells.to, 'CREATE TRIGGER damage BEFORE INSERT ON api_client FOR EACH ROW EXECUTE FUNCTION damage()');
    await rowsOf(cells.to, 'ALTER TABLE api_client ENABLE ALWAYS TRIGGER damage');
    await expect(moveTenant(cells, tenantId, moveAtOnce)).rejects.toThrow('The copy of api_client differs.');
    await rowsOf(cells.to, 'DROP FUNCTION damage CASCADE');
    a.clock.advance(31);
    expect((await create()).status).toBe(201);
    // The command died after it had closed the tenant.
    await withClient({ connectionString: cells.from }, (client) => closeTenant(client, tenantId));
    const closed = await create();
    expect([closed.status, closed.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await call(a, 'GET /clients', { token })).status).toBe(503);
    await expect(call(a, 'POST /oauth/token', { json: credentials(partner) })).resolves.toMatchObject({ status: 503 });
    await cancelMove(cells, tenantId, moveAtOnce.log);
    expect((await create()).status).toBe(201);
    expect(await rowsOf(cells.to, `SELECT FROM client WHERE tenant_id = '${tenantId}'`)).toEqual([]);
    expect(await leftovers()).toEqual([]);

    const iat = Math.floor(a.clock.now.getTime() / 1000);
    const claims = { client_id: partner.clientId, tenant_id: tenantId, scope: '', cell: 'b', iat, exp: iat + 60 };
    const foreign = await call(a, 'GET /clients', { token: await a.services.tokens.sign('access', claims) });
    expect([foreign.status, foreign.body.detail]).toEqual([401, expect.stringContaining('obtain a new one')]);

    await moveTenant(cells, tenantId, moveAtOnce);
    // The command died after it had activated the target.
    await rowsOf(cells.from, `UPDATE tenant_cell SET place = 'closed' WHERE tenant_id = '${tenantId}'`);
    expect((await create()).status).toBe(503);
    await expect(cancelMove(cells, tenantId, moveAtOnce.log)).rejects.toThrow('is active in the target');
    await moveTenant(cells, tenantId, moveAtOnce);
    a.clock.advance(31);
    expect(await create()).toMatchObject({ status: 401, body: { code: 'token_invalid' } });
    // The old cell asks the new one for a token.
    expect((await create(b, await newToken(a, partner))).status).toBe(201);
    const wrong = { ...credentials(partner), client_secret: 'cs_live_wrong' };
    expect((await call(a, 'POST /oauth/token', { json: wrong })).body.error).toBe('invalid_client');
    expect((await create(b, (await atB(partner)).token)).status).toBe(201);
  }, 30_000);

  it('tenant move moves a tenant back after tenant forget, without duplicating an audit row', async () => {
    const partner = await newPartner(a);
    const { tenantId } = partner;
    const { encounter_id: before } = await newEncounter(a, partner);
    const forget = () => forgetTenant(cells.from, tenantId, false, moveAtOnce.log);
    await expect(forget()).rejects.toThrow('lives in this cell');
    await moveTenant(cells, tenantId, moveAtOnce);
    // The command died after the activation: deletions would still reach the new cell.
    await rowsOf(cells.from, `CREATE PUBLICATION ${nameOfMove(tenantId)}`);
    await expect(forget()).rejects.toThrow('is not complete');
    await moveTenant(cells, tenantId, moveAtOnce);
    const back = { from: cells.to, to: cells.from };
    const environment = { DATABASE_URL: back.from, DATA_DIR: folder(), USER: 'alice' };
    const check = (MOVE_TO_URL = back.to) =>
      runProgram({ ...environment, MOVE_TO_URL }, 'tenant', 'move', tenantId, '--dry-run');
    expect((await check('')).stderr).toBe("Set MOVE_TO_URL to the address of the other cell's database.\n");
    expect((await check()).stderr).toContain('The target has rows of');
    const forgotten = await runProgram(
      { ...environment, DATABASE_URL: back.to },
      'tenant',
      'forget',
      tenantId,
      '--yes',
    );
    expect(forgotten.stdout).toMatch(/^\d+ rows deleted\.\n$/);
    const taken = createTenant(a.domain, { name: 'Other', id: tenantId, mode: 'live' });
    await expect(taken).rejects.toThrow('lives in another cell');
    expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('from b to a') });
    await moveTenant(back, tenantId, moveAtOnce);
    a.clock.advance(31);
    const { status } = await call(a, `GET /encounters/${before}`, { token: await newToken(a, partner) });
    expect(status).toBe(200);
    const rows = await rowsOf(cells.from, `SELECT FROM audit_event WHERE resource_id = '${before}' AND code IS NULL`);
    expect(rows).toHaveLength(2);
    expect([await seal(a), await seal(b)]).toMatchObject([{ fault: null }, { fault: null }]);
  }, 30_000);

  (hasDebianPostgres() ? it : it.skip)(
    'exports a tenant to files, and imports it once into another database',
    async () => {
      const partner = await newPartner(a);
      const { encounter_id: before } = await newEncounter(a, partner);
      const command = ({ database }: CellOfTest, ...args: string[]) => {
        const DATA_DIR = database === a.database ? folder() : folder('of-b');
        return runProgram({ DATABASE_URL: database.url, DATA_DIR, USER: 'alice' }, 'tenant', ...args);
      };
      expect(await command(a, 'export', partner.tenantId, '--to', folder('export'))).toMatchObject({
        code: 0,
        stderr: '',
      });
      expect(await command(b, 'import', '--from', folder('export'))).toMatchObject({ code: 0, stderr: '' });
      const { token } = await atB(partner);
      expect((await call(b, `GET /encounters/${before}`, { token })).status).toBe(200);
      expect((await newEncounter(b, { ...partner, token })).encounter_id).toBeGreaterThan(before);
      expect((await command(b, 'import', '--from', folder('export'))).stderr).toContain(
        'The database already contains rows of',
      );
      const atStore = { DATABASE_URL: cells.to, DATA_DIR: folder(), USER: 'alice' };
      const { stderr } = await runProgram(atStore, 'tenant', 'import', '--from', folder('export'));
      expect(stderr).toBe('Both databases use one object store: use "tenant move" instead.\n');
      // These rows are not the copy of a move.
      await expect(cancelMove(cells, partner.tenantId, moveAtOnce.log)).rejects.toThrow('There is nothing to cancel');
      expect((await call(b, `GET /encounters/${before}`, { token })).status).toBe(200);
    },
    30_000,
  );
});
