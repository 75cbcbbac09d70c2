import { setTimeout as delay } from 'node:timers/promises';
import * as places from '../../adapters/cells/places.js';
import * as replication from '../../adapters/cells/replication.js';
import * as tenantRows from '../../adapters/cells/tenantTables.js';
import { withClient, type Connection } from '../../adapters/database/withClient.js';
import { EFFECT_SECONDS } from '../../domain/access/apiClients.js';
import { assertMovable } from './movable.js';

/** The databases of two cells: for each, the address for its owner. */
export interface Cells {
  readonly from: string;
  readonly to: string;
}

export interface MoveOptions {
  /** The address at which the target's PostgreSQL reaches the source; default: `from`. */
  readonly via?: string | undefined;
  readonly log: (text: string) => void;
  /** Seconds until every server reads the tenant's place for each request; tests set 0. */
  readonly settleSeconds?: number;
}

interface Sides {
  readonly source: Connection;
  readonly target: Connection;
}

/** Milliseconds between two checks of the target, and the maximum wait for the last changes. */
const LOOK_MS = 20;
const LAST_CHANGES_MS = 30_000;
/** Milliseconds between two reports of progress. */
const TELL_MS = 5_000;

const between = <T>({ from, to }: Cells, tenantId: string, work: (sides: Sides) => Promise<T>): Promise<T> =>
  withClient({ connectionString: from }, (source) =>
    withClient({ connectionString: to }, async (target) => {
      for (const side of [source, target]) await places.lockMove(side, tenantId);
      return work({ source, target });
    }),
  );

/**
 * Moves a tenant to another cell (ADR 9). Until the target activates it, the source has the only writable copy; from then
 * on, the target. A repetition continues an interrupted move. @returns the seconds for which the tenant had no cell
 */
export async function moveTenant(cells: Cells, tenantId: string, options: MoveOptions) {
  return between(cells, tenantId, async (sides) => {
    const { source, target } = sides;
    const isActive = (await places.entryOf(target, tenantId))?.place === 'here';
    const left = (await places.entryOf(source, tenantId))?.place;
    if (isActive && left !== 'closed' && left !== 'away')
      throw new Error(`${tenantId} is already in the cell that MOVE_TO_URL names.`);
    const tables = await tenantRows.tenantTables(source);
    let closedSeconds = 0;
    if (!isActive) {
      await copy(sides, cells, tenantId, tables, options);
      closedSeconds = await cutOver(sides, cells, tenantId, tables);
    }
    await places.setPlace(source, tenantId, ['closed'], 'away', (await places.ownCell(target, 'target')).name);
    // Before the audit is copied, which can take long, make sure that no change of the old copy can reach the new one.
    await replication.stopReplication(source, target, tenantId);
    const audit = await places.appendAudit(source, target, tenantId);
    await replication.unpublish(source, tenantId);
    return { closedSeconds, audit };
  });
}

/** Makes the checks of a move without moving anything. */
export const checkMove = (cells: Cells, tenantId: string) =>
  between(cells, tenantId, async ({ source, target }) =>
    assertMovable(source, target, tenantId, await tenantRows.tenantTables(source)),
  );

/** Copies the tenant's rows to the target, and lets the target follow later changes. */
async function copy(
  { source, target }: Sides,
  { from }: Cells,
  tenantId: string,
  tables: readonly tenantRows.TenantTable[],
  { via = from, log, settleSeconds = EFFECT_SECONDS + 5 }: MoveOptions,
): Promise<void> {
  const { here, there } = await assertMovable(source, target, tenantId, tables);
  await places.noteCell(source, there);
  await places.noteCell(target, here);
  await places.setPlace(target, tenantId, [null, 'away'], 'arriving', here.name);
  await places.setPlace(source, tenantId, [null, 'here'], 'leaving', there.name);
  await replication.addFence(source, tables, tenantId, log);
  const slot = await replication.publish(source, tables, tenantId);
  await replication.subscribe(target, tenantId, slot, via);
  for (let told = performance.now(); ; await delay(5 * LOOK_MS)) {
    const left = await replication.waitingTables(target, tenantId);
    if (left === 0) break;
    if (!(await replication.keepsChanges(source, tenantId))) {
      throw new Error(
        'The source no longer keeps the changes for the copy (max_slot_wal_keep_size): use --cancel, then move it again.',
      );
    }
    if (performance.now() - told < TELL_MS) continue;
    log(`copies the rows: ${left} of ${tables.length} tables are not complete`);
    told = performance.now();
  }
  // Update statistics: without them, statements on tables that were just filled would get bad plans.
  for (const { name } of tables) await target.query(`ANALYZE ${name}`);
  const { place, seconds = 0 } = (await places.entryOf(source, tenantId)) ?? {};
  if (place === 'leaving' && seconds < settleSeconds) {
    log(`waits ${settleSeconds} seconds until every server knows of the move`);
    await delay((settleSeconds - seconds) * 1_000);
  }
}

/** Closes the tenant in the source, and activates it in the target if both databases have the same rows. */
async function cutOver(
  sides: Sides,
  cells: Cells,
  tenantId: string,
  tables: readonly tenantRows.TenantTable[],
): Promise<number> {
  const { source, target } = sides;
  const there = await places.ownCell(target, 'target');
  const begun = performance.now();
  try {
    await places.closeTenant(source, tenantId);
    await lastChangeArrives(sides, tenantId);
    await assertEqual(cells, tables, tenantId);
    await tenantRows.passSequences(source, target);
  } catch (error) {
    await places.setPlace(source, tenantId, ['closed'], 'leaving', there.name);
    throw error;
  }
  // If no response arrives, the tenant stays closed; repeating the move finds out whether it is active.
  const isActive = await places.setPlace(target, tenantId, ['arriving'], 'here', there.name);
  if (!isActive) throw new Error(`Another command has cancelled the move of ${tenantId}.`);
  await places.setPlace(source, tenantId, ['closed'], 'away', there.name);
  return (performance.now() - begun) / 1_000;
}

async function lastChangeArrives({ source, target }: Sides, tenantId: string): Promise<void> {
  const last = await places.lastChange(source, tenantId);
  for (const end = performance.now() + LAST_CHANGES_MS; performance.now() < end; await delay(LOOK_MS)) {
    if ((await places.lastChange(target, tenantId)) === last) return;
    await replication.waitingTables(target, tenantId);
  }
  throw new Error('The target did not get the last changes in time. The tenant is open again; repeat the move.');
}

async function assertEqual({ from, to }: Cells, tables: readonly tenantRows.TenantTable[], tenantId: string) {
  const [ours, theirs] = await Promise.all([from, to].map((url) => tenantRows.tenantDigests(url, tables, tenantId)));
  const different = tables.filter(({ name }) => ours?.get(name) !== theirs?.get(name)).map(({ name }) => name);
  if (different.length === 0) return;
  throw new Error(
    `The copy of ${different.join(', ')} differs. The tenant is open again in the source; use --cancel, then move it again.`,
  );
}

/** Cancels a move that has not activated the tenant in the target. @throws Error if it has */
export async function cancelMove(cells: Cells, tenantId: string, log: (text: string) => void): Promise<void> {
  await between(cells, tenantId, async ({ source, target }) => {
    const here = await places.ownCell(source, 'source');
    const there = await places.entryOf(target, tenantId);
    if (there?.place === 'here') {
      throw new Error(`${tenantId} is active in the target: repeat the move to complete it, then move it back.`);
    }
    // Check this, because the target's rows are deleted below: they must be those of an unfinished move.
    if (there?.cell !== here.name || (await places.entryOf(source, tenantId))?.place === 'away') {
      throw new Error(
        `There is nothing to cancel: no move of ${tenantId} from this cell to that of MOVE_TO_URL has begun.`,
      );
    }
    // From now on, the interrupted move can no longer activate the tenant in the target.
    if (!(await places.setPlace(target, tenantId, ['arriving', 'away'], 'away', here.name))) {
      throw new Error(`${tenantId} is active in the target: repeat the move to complete it, then move it back.`);
    }
    await replication.stopReplication(source, target, tenantId);
    await places.setPlace(source, tenantId, ['leaving', 'closed'], 'here', here.name);
    await replication.removeFence(source, tenantId, log);
    await tenantRows.deleteRows(target, await tenantRows.tenantTables(target), tenantId);
    await replication.unpublish(source, tenantId);
  });
}

/**
 * Cancels a move whose target no longer exists, and so cannot tell whether the tenant was active there.
 * @throws Error if no move from this cell is under way
 */
export async function cancelWithoutTarget(
  from: string,
  tenantId: string,
  isDry: boolean,
  log: (text: string) => void,
): Promise<void> {
  await withClient({ connectionString: from }, async (source) => {
    await places.lockMove(source, tenantId);
    const here = await places.ownCell(source, 'source');
    const place = (await places.entryOf(source, tenantId))?.place;
    // An interrupted cancellation left the publication.
    const isLeft = place === 'here' && (await replication.isReplicated(source, tenantId));
    if (place !== 'leaving' && place !== 'closed' && !isLeft) {
      throw new Error(`There is nothing to cancel: no move of ${tenantId} from this cell is under way.`);
    }
    if (isDry) return;
    await places.setPlace(source, tenantId, ['leaving', 'closed'], 'here', here.name);
    await replication.dropSlots(source, tenantId);
    await replication.removeFence(source, tenantId, log);
    await replication.unpublish(source, tenantId);
    const unused = await replication.unusedSyncSlots(source);
    if (unused.length > 0) log(`Unused slots keep WAL: ${unused.join(', ')}. Drop those that no subscriber needs.`);
  });
}

/** Deletes the rows of a tenant that lives in another cell. @returns their number */
export async function forgetTenant(
  url: string,
  tenantId: string,
  isDry: boolean,
  log: (text: string) => void,
): Promise<number> {
  return withClient({ connectionString: url }, async (client) => {
    await places.lockMove(client, tenantId);
    const place = (await places.entryOf(client, tenantId))?.place;
    if (place !== 'away') throw new Error(`${tenantId} still lives in this cell: move it to another cell first.`);
    // Deleting now would delete the rows in the other cell, too, or these rows would arrive again.
    if (await replication.isReplicated(client, tenantId)) {
      throw new Error(`The move of ${tenantId} is not complete: repeat or cancel it first.`);
    }
    if (isDry) return 0;
    await replication.removeFence(client, tenantId, log);
    return tenantRows.deleteRows(client, await tenantRows.tenantTables(client), tenantId);
  });
}
