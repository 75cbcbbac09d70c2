import { entryOf, ownCell, type OwnCell } from '../../adapters/cells/places.js';
import { isReplicated, nameOfMove } from '../../adapters/cells/replication.js';
import { hasNamesake, tableWithRows, type TenantTable } from '../../adapters/cells/tenantTables.js';
import type { Connection } from '../../adapters/database/withClient.js';
import { describeMigrations } from '../backup/backUp.js';

interface Settings {
  readonly wal_level: string;
  readonly free_slots: number;
  readonly may_publish: boolean;
  readonly may_subscribe: boolean;
}

/** Checks whether a tenant can be moved. @throws Error that says what prevents it */
export async function assertMovable(
  source: Connection,
  target: Connection,
  tenantId: string,
  tables: readonly TenantTable[],
): Promise<{ readonly here: OwnCell; readonly there: OwnCell }> {
  const [here, there] = [await ownCell(source, 'source'), await ownCell(target, 'target')];
  const [ours, theirs] = [await settingsOf(source, tenantId), await settingsOf(target, tenantId)];
  const [place, entry] = [await entryOf(source, tenantId), await entryOf(target, tenantId)];
  const refuse = (text: string): never => {
    throw new Error(text);
  };
  if (here.name === there.name)
    refuse('MOVE_TO_URL is the database of this cell: set it to the database of the other cell.');
  if (place?.place === 'away') refuse(`${tenantId} lives in the cell ${place.cell}: run the command there.`);
  if (place && place.place !== 'here' && place.cell !== there.name) {
    refuse(`${tenantId} is on its way to the cell ${place.cell}: complete that move, or cancel it with --cancel.`);
  }
  if (here.object_store !== there.object_store) {
    refuse(
      `The cells have different object stores (${here.object_store}, ${there.object_store}): give both one bucket.`,
    );
  }
  if (ours.wal_level !== 'logical') {
    refuse(`wal_level of the source is ${ours.wal_level}: set it to logical, and restart PostgreSQL.`);
  }
  if (ours.free_slots < 3) refuse('The source has fewer than 3 free replication slots: raise max_replication_slots.');
  if (!ours.may_publish) {
    refuse('The role of the source may not replicate: give it REPLICATION, and CREATE on the database.');
  }
  if (!theirs.may_subscribe) {
    refuse('The role of MOVE_TO_URL may not subscribe: it must be a superuser or have pg_create_subscription.');
  }
  assertSameSchema(await describeMigrations(source), await describeMigrations(target));
  if (entry?.place === 'arriving') return { here, there };
  if (await isReplicated(source, tenantId)) {
    refuse(`An earlier move of ${tenantId}, or its cancellation, has not ended: repeat that command first.`);
  }
  const filled = await tableWithRows(target, tables, tenantId);
  if (filled) refuse(`The target has rows of ${tenantId} in ${filled}: remove them with "tenant forget" there.`);
  if (await hasNamesake(source, target, tenantId))
    refuse(`The target has another tenant with the name or id of ${tenantId}, which must be unique in a cell.`);
  return { here, there };
}

/** Compares the schemas of two databases. @throws Error naming migrations that only one of them has */
export function assertSameSchema(ours: readonly string[], theirs: readonly string[]): void {
  const different = [...ours, ...theirs].filter((name) => !ours.includes(name) || !theirs.includes(name));
  if (different.length > 0) {
    throw new Error(`The schemas differ: run "ces migrate" on both databases (${different.join(', ')}).`);
  }
}

async function settingsOf(client: Connection, tenantId: string): Promise<Settings> {
  const { rows } = await client.query<Settings>(
    `SELECT current_setting('wal_level') AS wal_level,
       current_setting('max_replication_slots')::int
         - (SELECT count(*)::int FROM pg_replication_slots WHERE NOT starts_with(slot_name, $1)) AS free_slots,
       (rolsuper OR rolreplication) AND has_database_privilege(current_database(), 'CREATE') AS may_publish,
       rolsuper OR EXISTS (SELECT FROM pg_roles AS granted WHERE granted.rolname = 'pg_create_subscription'
         AND pg_has_role(granted.oid, 'USAGE')) AS may_subscribe
     FROM pg_roles WHERE rolname = current_user`,
    [nameOfMove(tenantId)],
  );
  const [settings] = rows;
  if (!settings) throw new Error('a statement returned no row');
  return settings;
}
