import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from '@commander-js/extra-typings';
import { findTenant } from '../domain/access/tenants.js';
import type { DomainContext } from '../context.js';
import { latestCursor, readEvents, type FeedEvent } from '../domain/events/feed.js';
import type { ScannedPage } from '../domain/transactions/positionCursor.js';
import { Problem } from '../problem.js';
import { addGroup, addTenantCommand } from './command.js';
import { recorded, wholeTenant, withDatabase } from './operator.js';
import type { CliIo } from './cliIo.js';

const POLL_MS = 1_000;
const PAGE = 100;

export function addEventCommands(program: Command, terminal: CliIo): void {
  const events = addGroup(program, 'events', 'the events of a tenant');
  const description = 'print new events, one JSON object per line, until interrupted';
  addTenantCommand(events, 'tail', description, ['--tenant lakeside'])
    .option('--after <cursor>', 'start after this next_cursor of the feed (default: now)')
    .action(async ({ tenant, after }) => {
      const interruption = new AbortController();
      // Record the command before it prints events, because the operator may end it at any time.
      const { command: _, ...unrecorded } = terminal;
      const work = async (context: DomainContext): Promise<void> => {
        const start = await recorded(terminal, context, async () => {
          const { id: tenantId } = await findTenant(context, tenant);
          const caller = wholeTenant(tenantId);
          const read = (cursor: string) =>
            readEvents({ db: context.db, caller }, { after: cursor, limit: PAGE }).catch(explain);
          return { read, first: await read(after ?? (await latestCursor(context, tenantId))) };
        });
        const cursor = await follow(start, terminal, interruption.signal);
        terminal.err(`Continue from here with --after ${cursor}\n`);
      };
      await withDatabase(unrecorded, work, { interruption });
    });
}

/** Rethrows an error; that of a cursor with an explanation. */
function explain(error: unknown): never {
  const [fault] = error instanceof Problem ? error.errors : [];
  throw fault
    ? new Error(`The cursor of --after ${fault.detail}. Use a next_cursor of this tenant, or omit --after.`, {
        cause: error,
      })
    : error;
}

interface Feed {
  readonly read: (cursor: string) => Promise<ScannedPage<FeedEvent>>;
  readonly first: ScannedPage<FeedEvent>;
}

/** Prints the first page, and later events until the signal aborts. @returns the cursor after the last event */
async function follow({ read, first }: Feed, { out }: CliIo, signal: AbortSignal): Promise<string> {
  for (let page = first; ; page = await read(page.nextCursor)) {
    for (const { id, type, timestamp, data } of page.rows) out(`${JSON.stringify({ id, type, timestamp, data })}\n`);
    if (!page.hasMore) await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return page.nextCursor;
  }
}
