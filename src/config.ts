import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { s3Variables, socketAddress, variables, type Variables } from './configVariables.js';

/** How the service runs. Read once, checked, frozen; every variable is documented in the README. */
export interface Config {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Public address without a final slash: issuer, audience and base of file links; null = from host and port. */
  readonly baseUrl: string | null;
  readonly logLevel: string;
  /** Absolute folder of the embedded database, keys and stored files. */
  readonly dataDir: string;
  /** null = the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /** Where migrations connect to; null = `databaseUrl`, whose role then owns the schema. */
  readonly databaseOwnerUrl: string | null;
  readonly databasePoolSize: number;
  /** Seconds. */
  readonly accessTokenTtl: number;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  /** File with the private signing keys (JWKS). */
  readonly signingKeysFile: string;
  /** Whether the file is made when missing: not when it was named, because then a missing one is a mistake. */
  readonly createSigningKeys: boolean;
  readonly objectStore: ObjectStoreConfig;
  /** `host:port` that documents may be fetched from over http and at addresses that are not public. */
  readonly documentFetchAllowedHosts: readonly string[];
  /** The same for webhooks. */
  readonly webhookAllowedHosts: readonly string[];
  readonly documentScanner: DocumentScannerConfig;
  /** Check every response against the contract, not only those of sandbox tenants. */
  readonly validateResponses: boolean;
  /** Milliseconds that requests in flight have to end after SIGTERM. */
  readonly drainTimeout: number;
  /** Milliseconds after SIGTERM in which connections are still taken, while readiness fails. */
  readonly shutdownDelay: number;
  /** Bytes on the disk of `dataDir`; with less, readiness reports it. */
  readonly minFreeDisk: number;
  /** Milliseconds that a connection stays open after a response. */
  readonly keepAliveTimeout: number;
  /** Further connections are closed at once. */
  readonly maxConnections: number;
  /** Null = off. */
  readonly rateLimit: { readonly quotas: Quotas; readonly redisUrl: string | null } | null;
  /** Processes that take requests. */
  readonly workers: number;
  /** How many proxies before the service append to `X-Forwarded-For`; 0 = the peer is the caller. */
  readonly trustedProxies: number;
  /** Days that documents which no encounter names, and ended encounters, are kept; null = for ever. */
  readonly retention: { readonly documentDays: number | null; readonly encounterDays: number | null };
  /** Where Prometheus reads the metrics; null = nothing is counted. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** The name that spans of requests bear; null = none are sent. Where to, OpenTelemetry reads by itself. */
  readonly tracedAs: string | null;
}

/** How often each may happen in its time: a second for `burst`, a minute for the others. */
export type Quotas = Readonly<Record<'default' | 'burst' | 'uploads' | 'bulk' | 'token' | 'token-failures', number>>;

export interface S3Config {
  /** `http(s)://host[:port]` */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export type ObjectStoreConfig = { readonly kind: 'file' } | ({ readonly kind: 's3' } & S3Config);

export type DocumentScannerConfig =
  { readonly kind: 'none' } | { readonly kind: 'clamav'; readonly address: SocketAddress };

/** Where a server listens: on TCP, or at the absolute path of a Unix socket. */
export type SocketAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * Reads the configuration from environment variables; an empty variable counts as absent.
 * @throws Error naming every wrong variable and its rule, never a value (it may be secret)
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.entries(environment).filter(([name, value]) => value && name in variables.properties);
  const values: unknown = Object.fromEntries(given);
  // Coercion makes Infinity of "1e400", for which Ajv leaves the limits unchecked when it is strict about numbers.
  const lenient = { strictTypes: false, strictNumbers: false, validateSchema: false };
  const ajv = new Ajv2020({ coerceTypes: true, useDefaults: true, allErrors: true, verbose: true, ...lenient });
  addFormats.default(ajv);
  ajv.addFormat(socketAddress, (value) => socketAddressOf(value) !== undefined);
  const valid = ajv.compile<Variables>(variables);
  if (!valid(values)) {
    const faults = (valid.errors ?? [])
      .filter(({ keyword }) => keyword !== 'if')
      .map((fault) => {
        const wrong = fault.instancePath.slice(1);
        if (wrong !== '') return `${wrong} must be ${ruleOf(fault.parentSchema ?? {})}`;
        const name = String(fault.params['missingProperty']);
        return `${name} is required with ${s3Variables.includes(name) ? 'OBJECT_STORE=s3' : 'DOCUMENT_SCANNER=clamav'}`;
      });
    throw new Error(`Wrong configuration: ${[...new Set(faults)].join('; ')}.`);
  }
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL ?? null,
    logLevel: values.LOG_LEVEL,
    dataDir: resolve(values.DATA_DIR),
    databaseUrl: values.DATABASE_URL ?? null,
    databaseOwnerUrl: values.DATABASE_OWNER_URL ?? null,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    accessTokenTtl: values.ACCESS_TOKEN_TTL,
    refreshTokenTtl: values.REFRESH_TOKEN_TTL,
    signingKeysFile: resolve(values.SIGNING_KEYS_FILE ?? join(values.DATA_DIR, 'signing-keys.json')),
    createSigningKeys: values.SIGNING_KEYS_FILE === undefined,
    objectStore: objectStoreOf(values),
    documentFetchAllowedHosts: listOf(values.DOCUMENT_FETCH_ALLOWED_HOSTS),
    webhookAllowedHosts: listOf(values.WEBHOOK_ALLOWED_HOSTS),
    documentScanner: documentScannerOf(values),
    validateResponses: values.VALIDATE_RESPONSES,
    drainTimeout: values.DRAIN_TIMEOUT * 1000,
    shutdownDelay: values.SHUTDOWN_DELAY * 1000,
    minFreeDisk: values.MIN_FREE_DISK * 1024 ** 2,
    keepAliveTimeout: values.KEEP_ALIVE_TIMEOUT * 1000,
    maxConnections: values.MAX_CONNECTIONS,
    rateLimit: values.RATE_LIMIT === 'off' ? null : rateLimitOf(values),
    trustedProxies: values.TRUSTED_PROXIES,
    retention: {
      documentDays: values.DOCUMENT_RETENTION_DAYS ?? null,
      encounterDays: values.ENCOUNTER_RETENTION_DAYS ?? null,
    },
    workers: values.WORKERS === 'auto' ? availableParallelism() : Number(values.WORKERS),
    metrics: values.METRICS_PORT === undefined ? null : { host: values.METRICS_HOST, port: values.METRICS_PORT },
    tracedAs: values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? null : values.OTEL_SERVICE_NAME,
  });
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

/** What a variable's schema demands, in words. */
function ruleOf(schema: AnySchemaObject): string {
  const { enum: values, type, minimum, maximum, description } = schema as Partial<Record<string, unknown>>;
  if (Array.isArray(values)) return `one of ${values.join(', ')}`;
  if (type === 'integer') return `a whole number from ${String(minimum)} to ${String(maximum)}`;
  return type === 'boolean' ? 'true or false' : String(description);
}

function rateLimitOf(values: Variables): NonNullable<Config['rateLimit']> {
  const quotas = {
    default: values.RATE_LIMIT_REQUESTS,
    burst: values.RATE_LIMIT_BURST,
    uploads: values.RATE_LIMIT_UPLOADS,
    bulk: values.RATE_LIMIT_BULK,
    token: values.RATE_LIMIT_TOKENS,
    'token-failures': values.RATE_LIMIT_TOKEN_FAILURES,
  };
  return { quotas, redisUrl: values.RATE_LIMIT_REDIS_URL ?? null };
}

function objectStoreOf(values: Variables): ObjectStoreConfig {
  const { OBJECT_STORE: kind, S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket } = values;
  const { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey } = values;
  if (kind === 'file' || !endpoint || !bucket || !accessKey || !secretKey) return { kind: 'file' };
  return { kind, endpoint, region, bucket, accessKey, secretKey };
}

function documentScannerOf({ DOCUMENT_SCANNER, CLAMAV_ADDRESS = '' }: Variables): DocumentScannerConfig {
  const address = socketAddressOf(CLAMAV_ADDRESS);
  return DOCUMENT_SCANNER === 'clamav' && address ? { kind: 'clamav', address } : { kind: 'none' };
}

/** An IPv6 address is written in brackets; undefined when the text is neither form. */
function socketAddressOf(text: string): SocketAddress | undefined {
  if (/^\/[^\0]+$/.test(text)) return { path: text };
  const [, literal, name, digits] = /^(?:\[([\da-f:.]+)\]|([^\s,/:@[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const [host, port] = [literal ?? name, Number(digits)];
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}
