import { Client, type ClientConfig, type PoolConfig } from 'pg';
import { messageOf } from '../../failures.js';
import { hostUrls } from './databaseUrl.js';

/** Milliseconds for each host, which are asked at the same time. Shorter than the timeout of a connection. */
const SEARCH_MS = 2_000;

/**
 * The class of connections for a URL. If it names several hosts, each new connection asks which of them accepts changes, and
 * goes there.
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

/** @throws Error with the reasons of all hosts */
async function primaryOf(urls: readonly string[]): Promise<Address> {
  return Promise.any(urls.map(assertPrimary)).catch((error: unknown) => {
    const { errors } = error as AggregateError;
    throw new Error(`No host of the database accepts changes: ${errors.map(messageOf).join('; ')}.`);
  });
}

/** @throws Error unless the host answers in time and accepts changes */
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
    // A host that hangs would not confirm the end.
    void client.end();
  }
}
