import { Client, type ClientConfig, type PoolConfig } from 'pg';
import { messageOf } from '../../failures.js';
import { hostUrls } from './databaseUrl.js';

/** Milliseconds for each host to answer; all are asked at once. Shorter than the timeout of a connection. */
const SEARCH_MS = 2_000;

/**
 * The class of connections for a pool. If the URL names several hosts, each new connection finds the host that accepts
 * changes and connects there.
 */
export function clientOf({ connectionString = '' }: PoolConfig): typeof Client {
  const urls = hostUrls(connectionString);
  if (urls.length < 2) return Client;
  let search: Promise<Address> | undefined;
  const find = (): Promise<Address> => (search ??= primaryOf(urls).finally(() => (search = undefined)));
  return class extends Client {
    constructor(config?: ClientConfig | string) {
      super({ ...(typeof config === 'object' && config), connectionString: urls[0] });
    }
    override connect(): Promise<Client>;
    override connect(done: (error: Error) => void): void;
    override connect(done?: (error: Error) => void): Promise<Client> | void {
      if (!done)
        return find()
          .then((address) => Object.assign(this, address))
          .then(() => super.connect());
      find().then((address) => {
        Object.assign(this, address);
        super.connect(done);
      }, done);
    }
  };
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address of the first host that accepts changes. @throws Error with the reason of every host */
async function primaryOf(urls: readonly string[]): Promise<Address> {
  return Promise.any(urls.map(assertPrimary)).catch((error: unknown) => {
    const { errors } = error as AggregateError;
    throw new Error(`No host of the database accepts changes: ${errors.map(messageOf).join('; ')}.`);
  });
}

/** The address of this host. @throws Error if it does not answer in time or is read-only */
async function assertPrimary(connectionString: string): Promise<Address> {
  const limits = { connectionTimeoutMillis: SEARCH_MS, query_timeout: SEARCH_MS };
  const client = new Client({ connectionString, application_name: 'clinical-encounter-search', ...limits });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    const { host, port } = client;
    if (rows[0]?.transaction_read_only !== 'off') throw new Error(`${host}:${port} is read-only`);
    return { host, port };
  } finally {
    // Do not await: a host that hangs never confirms the end of the connection.
    void client.end();
  }
}
