import { Client, type ClientConfig, type QueryResultRow } from 'pg';

/** A single connection, open while the work of {@link withClient} runs. */
export type Connection = Client;

/** Runs work on its own connection and closes it afterwards; if the connection breaks, its query rejects. */
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

/** A query's rows; none if the table or function is missing. @throws the driver's error, also after 5 s without response */
export function rowsOf<Row extends QueryResultRow>(url: string, name: string, query: string): Promise<Row[]> {
  const limits = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };
  return withClient({ connectionString: url, ...limits }, async (client) => {
    const { rowCount } = await client.query(
      `SELECT WHERE to_regclass('${name}') IS NOT NULL OR to_regproc('${name}') IS NOT NULL`,
    );
    return rowCount === 1 ? (await client.query<Row>(query)).rows : [];
  });
}
