import type { ServerResponse } from 'node:http';
import type { Route } from '../../src/http/endpoint/route.js';
import { operationOf } from './contract.js';
import type { Harness } from './harness.js';

/** Refusals that identify no API client, or whose response does not wait for the row. */
const unrecorded = ['token_missing', 'token_invalid', 'token_expired', 'dependency_unavailable'];
/** Outcomes of a token request that identify its client. */
const recordedOfTokens = [undefined, 'invalid_client', 'invalid_grant', 'invalid_scope'];

export interface AuditWatch {
  /** Fails unless each response since the start that needs a row has one, written first, and there are no further rows. */
  expectOneRowEach(): Promise<void>;
}

/** Holds each response that needs a row of the audit until its rows are counted. */
export async function watchAudit({ server, domain: { db } }: Harness): Promise<AuditWatch> {
  const [start] = await db.prisma.$queryRaw<{ positions: object | null }[]>`
    SELECT json_object_agg(tenant_id, position) AS positions FROM audit_counter`;
  const positions = JSON.stringify(start?.positions ?? {});
  /** @param only counts the rows with this name alone */
  const countRows = async (only: string | null = null): Promise<Map<string, number>> => {
    const rows = await db.prisma.$queryRaw<{ name: string; count: number }[]>`
      SELECT name, count(*)::int AS count
      FROM audit_event, concat_ws(' ', request_id, operation_id, status, code) AS name
      WHERE position > coalesce((${positions}::jsonb->>tenant_id)::bigint, 0) AND code IS DISTINCT FROM 'dependency_unavailable'
        AND name = coalesce(${only}, name) GROUP BY 1`;
    return new Map(rows.map(({ name, count }) => [name, count]));
  };
  const sent = new Map<string, number>();
  const late: string[] = [];

  const check = async (name: string): Promise<void> => {
    const count = (sent.get(name) ?? 0) + 1;
    sent.set(name, count);
    if (((await countRows(name)).get(name) ?? 0) < count) late.push(name);
  };
  server.prependListener('request', (_req, res) => {
    res.end = new Proxy(res.end, {
      apply(end, self: ServerResponse & { locals: Record<string, unknown> }, args: unknown[]) {
        const name = nameOf(self, String(args[0]));
        if (name === null) return Reflect.apply(end, self, args);
        void check(name).finally(() => Reflect.apply(end, self, args));
        return self;
      },
    });
  });
  return {
    async expectOneRowEach() {
      expect(late).toEqual([]);
      expect(sent.size).toBeGreaterThan(0);
      expect([...(await countRows())].sort()).toEqual([...sent].sort());
    },
  };
}

/** Null if the audit does not record the response. */
function nameOf(res: ServerResponse & { locals: Record<string, unknown> }, text: string): string | null {
  const { operationId } = (res.locals['route'] ?? {}) as Partial<Route>;
  if (!operationId || (operationId !== 'issueToken' && operationOf(operationId).security.length === 0)) return null;
  const { code, error } = res.statusCode < 400 ? {} : (JSON.parse(text) as Record<string, unknown>);
  const problem = (code ?? error) as string | undefined;
  const isRecorded =
    operationId === 'issueToken' ? recordedOfTokens.includes(problem) : !unrecorded.includes(String(problem));
  if (!isRecorded) return null;
  return [res.locals['requestId'], operationId, res.statusCode, problem].filter(Boolean).join(' ');
}
