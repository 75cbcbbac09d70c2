import type { Client, ClientConfig, QueryResultRow } from 'pg';
import { clientOf } from './primary.js';

/** A connection that is open for the time of {@link withClient}. */
export type Connection = Client;

/** Runs work on its own connection; a broken connection rejects its query. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new (clientOf(config))(config);
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of a table or function that may not exist yet. @throws the driver's error after 5 s without a response */
export function rowsOf<Row extends QueryResultRow>(url: string, name: string, query: string): Promise<Row[]> {
  const limits = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };
  return withClient({ connectionString: url, ...limits }, async (client) => {
    const { rowCount } = await client.query(
      `SELECT WHERE to_regclass('${name}') IS NOT NULL OR to_regproc('${name}') IS NOT NULL`,
    );
    return rowCount === 1 ? (await client.query<Row>(query)).rows : [];
  });
}
