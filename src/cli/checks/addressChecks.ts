import { checkPooler, openDatabase } from '../../adapters/database/database.js';
import { withClient } from '../../adapters/database/withClient.js';
import type { Config } from '../../config.js';
import type { ServiceDatabase } from '../../runtime/configuredDatabase.js';
import { CHECK_TIMEOUT_MS, checkOf, failure, ok, type Check } from './check.js';

const HANDBOOK = 'scripts/production/database.md';
const IDENTITY = `SELECT concat_ws('/', oid, extract(epoch FROM pg_postmaster_start_time())) AS id FROM pg_database WHERE datname = current_database()`;

/** The checks of the pooler and the owner's URL, if set; both must lead to the database that answers at `url`. */
export function addressChecks(
  { databaseDirectUrl, databaseOwnerUrl }: Config,
  { url, requests, ownerUrl }: ServiceDatabase,
): Check[] {
  return [
    ...(databaseDirectUrl === null ? [] : [pooler(url, requests.url)]),
    ...(databaseOwnerUrl === null ? [] : [owner(url, ownerUrl)]),
  ];
}

function pooler(url: string, requestUrl: string): Check {
  const remedy = `Start the pooler, free its connections, or correct DATABASE_URL, DATABASE_DIRECT_URL or the pooler's connect_query (${HANDBOOK}#pooler).`;
  return checkOf('pooler', remedy, async () => {
    const db = openDatabase(requestUrl, { poolSize: 1, timeoutMs: CHECK_TIMEOUT_MS, isPooled: true });
    try {
      await checkPooler(db);
    } finally {
      await db.close();
    }
    if ((await identityOf(requestUrl)) === (await identityOf(url))) return ok('The pooler leads to the database.');
    const advice = "Correct DATABASE_URL, DATABASE_DIRECT_URL, or host and database in the pooler's configuration.";
    return failure('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases or servers.', advice);
  });
}

function owner(url: string, ownerUrl: string): Check {
  const remedy = `Correct what the message names, or set DATABASE_OWNER_URL to the service's database, without a pooler, with name and password of the role that owns the schema and all its tables (${HANDBOOK}#roles).`;
  return checkOf('owner', remedy, async () => {
    if ((await identityOf(ownerUrl)) !== (await identityOf(url))) {
      const advice = 'Correct DATABASE_OWNER_URL or DATABASE_URL (with a pooler, DATABASE_DIRECT_URL).';
      return failure('DATABASE_OWNER_URL and the URL of the service lead to different databases or servers.', advice);
    }
    const mayMigrate = await read<boolean>(
      ownerUrl,
      `SELECT has_schema_privilege('public', 'CREATE') AND NOT EXISTS (SELECT FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT pg_has_role(relowner, 'USAGE'))`,
    );
    return mayMigrate
      ? ok('The role of DATABASE_OWNER_URL owns the schema.')
      : failure(
          'The role of DATABASE_OWNER_URL may not create tables in the schema public, or does not own one that is there.',
          `Set DATABASE_OWNER_URL to the owner of the schema and all its tables, or let a superuser make its role their owner (${HANDBOOK}#roles).`,
        );
  });
}

const identityOf = (url: string): Promise<string> => read(url, IDENTITY);

/** Runs a query that returns a single value. */
function read<T>(connectionString: string, query: string): Promise<T> {
  const limits = { connectionTimeoutMillis: CHECK_TIMEOUT_MS, query_timeout: CHECK_TIMEOUT_MS };
  return withClient({ connectionString, ...limits }, async (client) => {
    const { rows } = await client.query<[T]>({ text: query, rowMode: 'array' });
    return (rows[0] as [T])[0];
  });
}
