import type { AuditLog, AuditRow, DomainContext } from '../../context.js';
import { auditRecorder } from './recorder.js';

/** Maximum of audit rows per minute and subject for requests without login; further ones are only counted. */
const MAX_ROWS = 20;
const MINUTE_MS = 60_000;

interface Minute {
  rows: number;
  /** The number of requests in this minute beyond those that have a row each. */
  more: number;
  last: AuditRow;
}

/** Opens the audit of a process. `close` writes the counts that have no row yet. */
export function openAuditLog(context: Pick<DomainContext, 'db'>, minuteMs = MINUTE_MS): AuditLog {
  const record = auditRecorder(context);
  /** The current minute by subject. Callers cannot invent subjects: these are existing clients and documents. */
  const minutes = new Map<string, Minute>();

  const end = async ([key, minute]: [string, Minute]): Promise<void> => {
    const { more, last } = minute;
    minute.rows = 0;
    if (more > 0) await record({ ...last, count: more });
    minute.more -= more;
    if (minute.rows === 0 && minute.more === 0) minutes.delete(key);
  };
  /** Writes the counts of all subjects; a row that cannot be written is tried again a minute later. */
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

/** The subject by which requests share rows: the client of failed logins, or a document that is read by its link. */
const sharedBy = ({ code, clientId, resourceId }: AuditRow): string | null =>
  code === 'invalid_client' ? clientId : clientId === null ? resourceId : null;
