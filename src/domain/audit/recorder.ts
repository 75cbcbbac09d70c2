import type { Statements } from '../../adapters/database/statements.js';
import type { AuditRow, DomainContext, Services } from '../../context.js';
import { Problem } from '../../problem.js';
import { metrics } from '../../telemetry.js';
import { NO_TENANT, unitOfWorkStatement } from '../transactions/unitOfWork.js';

type RecordAudit = Services['recordAudit'];

/** The defaults of the optional members of an audit row: null, or an empty list. */
export const emptyRow = {
  ...{ tenantId: null, clientId: null, operator: null, resourceType: null, resourceId: null },
  ...{ patientIds: [], status: null, code: null, requestId: null, ip: null, reviewerRef: null },
} satisfies Partial<AuditRow>;

/** Milliseconds until waiting rows begin a concurrent batch, if fewer than {@link MAX_BATCHES} are being committed. */
const MAX_WAIT_MS = 5;
/** Maximum of concurrent batches of a tenant: a hanging commit blocks neither the other batches nor all connections. */
const MAX_BATCHES = 3;

/** Records each tenant's rows separately, so that no tenant waits for another one's lock. */
export function auditRecorder(context: Pick<DomainContext, 'db'>): RecordAudit {
  const recorders = new Map<string, RecordAudit>();
  return (row) => {
    const tenantId = row.tenantId ?? NO_TENANT;
    const known = recorders.get(tenantId);
    const record = known ?? tenantRecorder(context.db.of(tenantId));
    if (!known) recorders.set(tenantId, record);
    return record(row);
  };
}

/** Group commit: writes the first row immediately, and the rows that arrive meanwhile in batches. */
function tenantRecorder(statements: Statements): RecordAudit {
  let waiting: { row: AuditRow; resolve: () => void; reject: (problem: Problem) => void }[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;

  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0 || underWay >= MAX_BATCHES) return;
    const batch = waiting;
    const audited = batch.map(({ row }) => row);
    waiting = [];
    underWay += 1;
    // An async function, so that an exception rejects the promise; thrown in the timer, it would end the process.
    const commit = async (): Promise<unknown> => {
      const statement = unitOfWorkStatement({ events: [], changes: [], audited });
      return statement && statements.run(statement);
    };
    commit()
      .then(
        () => {
          metrics?.auditBatches.inc({ outcome: 'ok' });
          batch.forEach(({ resolve }) => resolve());
        },
        (cause: unknown) => {
          metrics?.auditBatches.inc({ outcome: 'failed' });
          const problem = new Problem('dependency_unavailable', undefined, { cause });
          batch.forEach(({ reject }) => reject(problem));
        },
      )
      .finally(() => {
        underWay -= 1;
        write();
      });
  };

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject });
      if (underWay === 0) write();
      else timer ??= setTimeout(write, MAX_WAIT_MS);
    });
}
