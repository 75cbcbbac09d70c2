import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The output of a program of PostgreSQL. */
export const pg = async (program: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(program, args, { maxBuffer: 2 ** 28 })).stdout;

/** The rows of each table as pg_dump's lines of COPY, in an order that does not depend on their place. */
export function tablesOf(sql: string): Map<string, string[]> {
  const blocks = sql.matchAll(/^COPY (\S+) .*?;\n(.*?)^\\\.$/gms);
  return new Map([...blocks].map(([, name = '', rows = '']) => [name, rows.split('\n').filter(Boolean).sort()]));
}
