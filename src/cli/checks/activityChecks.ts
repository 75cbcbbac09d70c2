import type { Database } from '../../adapters/database/database.js';
import { ok, warning, type Check } from './check.js';

interface ActivityPlace {
  readonly db: Database;
  /** Seconds from which a transaction counts as long. */
  readonly longTransaction: number;
}

/** Checks sessions of all databases on the server. Names them by process id: statements may contain health data. */
export function activityChecks({ db, longTransaction }: ActivityPlace): Check[] {
  const remedy = 'Give the role the right pg_read_all_stats.';
  return [
    {
      name: 'transactions',
      remedy,
      async run() {
        const sessions = await db.everyTenant.rows<{ pid: number; seconds: number }>`
          SELECT pid, extract(epoch FROM now() - xact_start)::float AS seconds FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            AND xact_start < now() - make_interval(secs => ${longTransaction}) ORDER BY 2 DESC`;
        if (sessions.length === 0) return ok(`No transaction that this role sees is older than ${longTransaction} s.`);
        const list = sessions.map(({ pid, seconds }) => `process ${pid} for ${Math.round(seconds)} s`).join(', ');
        return warning(
          `Transactions are open: ${list}.`,
          'End them by SELECT pg_terminate_backend(process), unless they are a backup.',
        );
      },
    },
    {
      name: 'locks',
      remedy,
      async run() {
        const waiting = await db.everyTenant.rows<{ pid: number; holders: number[] }>`
          SELECT DISTINCT pid, pg_blocking_pids(pid) AS holders FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE NOT granted AND waitstart < now() - interval '1 second' AND datname = current_database()`;
        if (waiting.length === 0) return ok('No session waits for a lock.');
        const holders = [...new Set(waiting.flatMap((session) => session.holders))].join(', ');
        const message = `${waiting.length} sessions wait for locks of the processes ${holders}.`;
        return warning(message, 'Find out what these do (pg_stat_activity), or end them by pg_terminate_backend.');
      },
    },
  ];
}
