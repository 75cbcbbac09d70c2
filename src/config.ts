import { join, resolve } from 'node:path';
import { customCleanEnv, EnvMissingError, type CleanedEnv } from 'envalid';
import { conditionOf, variables, type SocketAddress as Address } from './configVariables.js';

export type SocketAddress = Address;
/** The configuration of the service: read once, checked, frozen. */
export type Config = Readonly<ReturnType<typeof configOf>>;
/** The limits by name: requests per second for `burst`, per minute for all others (R-84). */
export type Quotas = NonNullable<Config['rateLimit']>['quotas'];
export type ObjectStoreConfig = Config['objectStore'];
export type S3Config = Omit<Extract<ObjectStoreConfig, { kind: 's3' }>, 'kind'>;
export type DocumentScannerConfig = Config['documentScanner'];

/** Empty variables count as absent. @throws Error with every wrong variable and its rule, without secret values */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const { values, faults } = parse(environment);
  if (faults.size > 0) throw new Error(`Wrong configuration: ${[...faults.values()].join(' ')}`);
  return Object.freeze(configOf(values));
}

/** Every wrong variable, with a sentence that states its rule without its value. */
export const configFaults = (environment: Readonly<Record<string, string | undefined>>): ReadonlyMap<string, string> =>
  parse(environment).faults;

function parse(environment: Readonly<Record<string, string | undefined>>) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value));
  const faults = new Map<string, string>();
  const reporter = ({ errors }: { readonly errors: Readonly<Record<string, Error | undefined>> }): void => {
    for (const [name, error] of Object.entries(errors)) {
      const isMissing = error instanceof EnvMissingError;
      faults.set(name, isMissing ? `${name} is required with ${conditionOf(name)}.` : `${name} ${error?.message}`);
    }
  };
  return { values: customCleanEnv(given, variables, (values) => values, { reporter }), faults };
}

/** The address of a server on this machine. Replaces wildcard addresses, which not every system connects to. */
export function localUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function configOf(values: CleanedEnv<typeof variables>) {
  return {
    host: values.HOST,
    /** 0 = any free port. */
    port: values.PORT,
    /** Public URL without a final slash; null = derived from host and port. */
    baseUrl: values.BASE_URL ?? null,
    logLevel: values.LOG_LEVEL,
    dataDir: resolve(values.DATA_DIR),
    /** Null = the embedded PostgreSQL in `dataDir`. */
    databaseUrl: values.DATABASE_URL ?? null,
    /** Set if `databaseUrl` is a pooler in transaction mode: the address of the database itself. */
    databaseDirectUrl: values.DATABASE_DIRECT_URL ?? null,
    /** Null = the role of `databaseUrl` owns the schema. */
    databaseOwnerUrl: values.DATABASE_OWNER_URL ?? null,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    /** Seconds. */
    accessTokenTtl: values.ACCESS_TOKEN_TTL,
    /** Seconds. */
    refreshTokenTtl: values.REFRESH_TOKEN_TTL,
    signingKeysFile: resolve(values.SIGNING_KEYS_FILE ?? join(values.DATA_DIR, 'signing-keys.json')),
    /** A missing file is an error if the operator named it, and is created otherwise. */
    createSigningKeys: values.SIGNING_KEYS_FILE === undefined,
    erasureJournal: resolve(values.ERASURE_JOURNAL ?? join(values.DATA_DIR, 'erasures.ndjson')),
    pdfFallbackFont: values.PDF_FALLBACK_FONT ?? null,
    backupPassphrase: values.BACKUP_PASSPHRASE ?? null,
    objectStore: objectStoreOf(values),
    documentFetchAllowedHosts: values.DOCUMENT_FETCH_ALLOWED_HOSTS,
    webhookAllowedHosts: values.WEBHOOK_ALLOWED_HOSTS,
    documentScanner: documentScannerOf(values),
    validateResponses: values.VALIDATE_RESPONSES,
    /** Milliseconds; so are `shutdownDelay` and `keepAliveTimeout`. */
    drainTimeout: values.DRAIN_TIMEOUT * 1000,
    shutdownDelay: values.SHUTDOWN_DELAY * 1000,
    keepAliveTimeout: values.KEEP_ALIVE_TIMEOUT * 1000,
    /** Bytes. */
    minFreeDisk: values.MIN_FREE_DISK * 1024 ** 2,
    maxConnections: values.MAX_CONNECTIONS,
    rateLimit: values.RATE_LIMIT === 'off' ? null : rateLimitOf(values),
    trustedProxies: values.TRUSTED_PROXIES,
    metrics: values.METRICS_PORT === undefined ? null : { host: values.METRICS_HOST, port: values.METRICS_PORT },
    /** Service name in traces; null = no traces. OpenTelemetry itself reads the collector's address. */
    tracedAs: values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? null : values.OTEL_SERVICE_NAME,
  };
}

type Values = CleanedEnv<typeof variables>;

const rateLimitOf = (values: Values) => ({
  quotas: {
    default: values.RATE_LIMIT_REQUESTS,
    burst: values.RATE_LIMIT_BURST,
    uploads: values.RATE_LIMIT_UPLOADS,
    bulk: values.RATE_LIMIT_BULK,
    token: values.RATE_LIMIT_TOKENS,
    'token-failures': values.RATE_LIMIT_TOKEN_FAILURES,
    certificates: values.RATE_LIMIT_TOKEN_FAILURES,
  },
  redisUrl: values.RATE_LIMIT_REDIS_URL ?? null,
});

function objectStoreOf(values: Values) {
  const { OBJECT_STORE: kind, S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket } = values;
  const { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey } = values;
  if (kind === 'file' || !endpoint || !bucket || !accessKey || !secretKey) return { kind: 'file' } as const;
  return { kind, endpoint, region, bucket, accessKey, secretKey };
}

function documentScannerOf({ DOCUMENT_SCANNER: kind, CLAMAV_ADDRESS: address }: Values) {
  return kind === 'clamav' && address ? { kind, address } : ({ kind: 'none' } as const);
}
