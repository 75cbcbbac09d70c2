import type { AuditLog, AuditRow, DomainContext } from '../../context.js';
import { auditRecorder } from './recorder.js';

/** Rows of their own that requests which need no login get in a minute, by what they are about. */
const MAX_ROWS = 20;
const MINUTE_MS = 60_000;

interface Minute {
  rows: number;
  /** Requests that have no row yet. */
  more: number;
  last: AuditRow;
}

/** The audit as a process writes it: `close` writes what is only counted so far. */
export function openAuditLog(context: Pick<DomainContext, 'db'>, minuteMs = MINUTE_MS): AuditLog {
  const record = auditRecorder(context);
  /** Of API clients and documents that exist: callers cannot make up keys. */
  const minutes = new Map<string, Minute>();

  const end = async ([key, minute]: [string, Minute]): Promise<void> => {
    const { more, last } = minute;
    minute.rows = 0;
    if (more > 0) await record({ ...last, count: more });
    minute.more -= more;
    if (minute.rows === 0 && minute.more === 0) minutes.delete(key);
  };
  /** A row that cannot be written is tried again a minute later. */
  const endAll = () => Promise.allSettled([...minutes].map(end));
  const timer = setInterval(() => void endAll(), minuteMs).unref();

  return {
    async record(row) {
      const key = sharedBy(row);
      if (key === null) return record(row);
      const minute = minutes.get(key) ?? { rows: 0, more: 0, last: row };
      minutes.set(key, minute);
      if (minute.rows < MAX_ROWS) {
        minute.rows += 1;
        return record(row);
      }
      minute.more += 1;
      minute.last = row;
    },
    async close() {
      clearInterval(timer);
      await endAll();
    },
  };
}

/** What requests that may share a row are about: a client's failed logins, or a document that was read by its link. */
const sharedBy = ({ code, clientId, resourceId }: AuditRow): string | null =>
  code === 'invalid_client' ? clientId : clientId === null ? resourceId : null;
