import { Client, type ClientConfig, type QueryResultRow } from 'pg';

/** Does work on a connection of its own; one that breaks fails the query that is on it. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of a known table that may not exist yet. @throws the driver's error when there is no response in 5 s */
export function rowsOf<Row extends QueryResultRow>(url: string, table: string, query: string): Promise<Row[]> {
  const limits = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };
  return withClient({ connectionString: url, ...limits }, async (client) => {
    const found = await client.query<{ present: boolean }>(`SELECT to_regclass('${table}') IS NOT NULL AS present`);
    return found.rows[0]?.present === true ? (await client.query<Row>(query)).rows : [];
  });
}
