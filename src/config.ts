import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

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
  /** Days that rows of the audit are kept. */
  readonly auditRetentionDays: number;
  /** Where Prometheus reads the metrics; null = nothing is counted. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** The name that spans of requests bear; null = none are sent. Where to, OpenTelemetry reads by itself. */
  readonly tracedAs: string | null;
}

/** How often each may happen in its time: a second for `burst`, a minute for the others. */
export type Quotas = Readonly<Record<'default' | 'burst' | 'uploads' | 'bulk' | 'token' | 'token-failures', number>>;

export type ObjectStoreConfig =
  | { readonly kind: 'file' }
  | {
      readonly kind: 's3';
      /** `http(s)://host[:port]` */
      readonly endpoint: string;
      readonly region: string;
      readonly bucket: string;
      readonly accessKey: string;
      readonly secretKey: string;
    };

export type DocumentScannerConfig =
  { readonly kind: 'none' } | { readonly kind: 'clamav'; readonly address: SocketAddress };

/** Where a server listens: on TCP, or at the absolute path of a Unix socket. */
export type SocketAddress = { readonly host: string; readonly port: number } | { readonly path: string };

interface Variables {
  HOST: string;
  PORT: number;
  BASE_URL?: string;
  LOG_LEVEL: string;
  DATA_DIR: string;
  DATABASE_URL?: string;
  DATABASE_OWNER_URL?: string;
  DATABASE_POOL_SIZE: number;
  ACCESS_TOKEN_TTL: number;
  REFRESH_TOKEN_TTL: number;
  SIGNING_KEYS_FILE?: string;
  OBJECT_STORE: 'file' | 's3';
  S3_ENDPOINT?: string;
  S3_REGION: string;
  S3_BUCKET?: string;
  S3_ACCESS_KEY?: string;
  S3_SECRET_KEY?: string;
  DOCUMENT_FETCH_ALLOWED_HOSTS: string;
  DOCUMENT_SCANNER: 'none' | 'clamav';
  CLAMAV_ADDRESS?: string;
  VALIDATE_RESPONSES: boolean;
  DRAIN_TIMEOUT: number;
  SHUTDOWN_DELAY: number;
  MIN_FREE_DISK: number;
  KEEP_ALIVE_TIMEOUT: number;
  MAX_CONNECTIONS: number;
  RATE_LIMIT: 'on' | 'off';
  RATE_LIMIT_REQUESTS: number;
  RATE_LIMIT_BURST: number;
  RATE_LIMIT_UPLOADS: number;
  RATE_LIMIT_BULK: number;
  RATE_LIMIT_TOKENS: number;
  RATE_LIMIT_TOKEN_FAILURES: number;
  RATE_LIMIT_REDIS_URL?: string;
  WORKERS: string;
  TRUSTED_PROXIES: number;
  AUDIT_RETENTION_DAYS: number;
  METRICS_HOST: string;
  METRICS_PORT?: number;
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  OTEL_SERVICE_NAME: string;
}

const text = { type: 'string', minLength: 1 };
const seconds = (fallback: number) => ({ type: 'integer', minimum: 1, maximum: 31_536_000, default: fallback });
const quota = (fallback: number) => ({ type: 'integer', minimum: 1, maximum: 1_000_000, default: fallback });
const s3Variables = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'];
const socketAddress = 'host:port or /path';
const origin = 'http(s)://host without a path';

/** Makes other variables required when `name` has this value. */
const requires = (name: string, value: string, required: readonly string[]) => ({
  if: { not: { properties: { [name]: { const: value } }, required: [name] } },
  else: { required },
});

/** The schema of the environment; a test holds the README's table of variables against it. */
export const variables = {
  type: 'object',
  properties: {
    HOST: { ...text, default: '127.0.0.1' },
    PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3000 },
    BASE_URL: { type: 'string', format: 'uri', pattern: '^https?://[^/?#@\\s]+$', description: origin },
    LOG_LEVEL: { enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], default: 'info' },
    DATA_DIR: { ...text, default: '.data' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://.+', description: 'postgresql://…' },
    DATABASE_OWNER_URL: { type: 'string', pattern: '^postgres(ql)?://.+', description: 'postgresql://…' },
    DATABASE_POOL_SIZE: { type: 'integer', minimum: 1, maximum: 500, default: 10 },
    ACCESS_TOKEN_TTL: seconds(25_200),
    REFRESH_TOKEN_TTL: seconds(2_592_000),
    SIGNING_KEYS_FILE: text,
    OBJECT_STORE: { enum: ['file', 's3'], default: 'file' },
    S3_ENDPOINT: { type: 'string', format: 'uri', pattern: '^https?://', description: 'http(s)://host[:port]' },
    S3_REGION: { ...text, default: 'us-east-1' },
    S3_BUCKET: text,
    S3_ACCESS_KEY: text,
    S3_SECRET_KEY: text,
    DOCUMENT_FETCH_ALLOWED_HOSTS: {
      type: 'string',
      pattern: '^$|^[^\\s,/:]+:\\d{1,5}(\\s*,\\s*[^\\s,/:]+:\\d{1,5})*$',
      default: '',
      description: 'host:port, or several with commas',
    },
    DOCUMENT_SCANNER: { enum: ['none', 'clamav'], default: 'none' },
    CLAMAV_ADDRESS: { type: 'string', format: socketAddress, description: socketAddress },
    VALIDATE_RESPONSES: { type: 'boolean', default: false },
    // A timer of more than 24 days fires at once.
    DRAIN_TIMEOUT: { ...seconds(75), maximum: 86_400 },
    SHUTDOWN_DELAY: { type: 'integer', minimum: 0, maximum: 3_600, default: 0 },
    MIN_FREE_DISK: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 512 },
    // Above the 60 s after which common load balancers give up an idle connection: they must be the ones to close it.
    KEEP_ALIVE_TIMEOUT: { type: 'integer', minimum: 1, maximum: 3_600, default: 65 },
    MAX_CONNECTIONS: { type: 'integer', minimum: 1, maximum: 100_000, default: 5_000 },
    RATE_LIMIT: { enum: ['on', 'off'], default: 'on' },
    RATE_LIMIT_REQUESTS: quota(1_200),
    RATE_LIMIT_BURST: quota(200),
    RATE_LIMIT_UPLOADS: quota(60),
    RATE_LIMIT_BULK: quota(10),
    RATE_LIMIT_TOKENS: quota(120),
    RATE_LIMIT_TOKEN_FAILURES: quota(20),
    RATE_LIMIT_REDIS_URL: { type: 'string', pattern: '^rediss?://.+', description: 'redis(s)://host[:port]' },
    WORKERS: {
      type: 'string',
      pattern: '^(auto|[1-9]\\d?)$',
      default: '1',
      description: 'auto or a number from 1 to 99',
    },
    TRUSTED_PROXIES: { type: 'integer', minimum: 0, maximum: 10, default: 0 },
    // 45 CFR 164.316(b)(2)(i) asks for six years.
    AUDIT_RETENTION_DAYS: { type: 'integer', minimum: 1, maximum: 36_500, default: 2_192 },
    METRICS_HOST: { ...text, default: '127.0.0.1' },
    METRICS_PORT: { type: 'integer', minimum: 0, maximum: 65_535 },
    OTEL_EXPORTER_OTLP_ENDPOINT: { type: 'string', format: 'uri', pattern: '^https?://', description: 'http(s)://…' },
    OTEL_SERVICE_NAME: { ...text, default: 'clinical-encounter-service' },
  },
  allOf: [requires('OBJECT_STORE', 's3', s3Variables), requires('DOCUMENT_SCANNER', 'clamav', ['CLAMAV_ADDRESS'])],
};

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
    documentFetchAllowedHosts: values.DOCUMENT_FETCH_ALLOWED_HOSTS.split(',')
      .map((host) => host.trim())
      .filter(Boolean),
    documentScanner: documentScannerOf(values),
    validateResponses: values.VALIDATE_RESPONSES,
    drainTimeout: values.DRAIN_TIMEOUT * 1000,
    shutdownDelay: values.SHUTDOWN_DELAY * 1000,
    minFreeDisk: values.MIN_FREE_DISK * 1024 ** 2,
    keepAliveTimeout: values.KEEP_ALIVE_TIMEOUT * 1000,
    maxConnections: values.MAX_CONNECTIONS,
    rateLimit: values.RATE_LIMIT === 'off' ? null : rateLimitOf(values),
    trustedProxies: values.TRUSTED_PROXIES,
    auditRetentionDays: values.AUDIT_RETENTION_DAYS,
    workers: values.WORKERS === 'auto' ? availableParallelism() : Number(values.WORKERS),
    metrics: values.METRICS_PORT === undefined ? null : { host: values.METRICS_HOST, port: values.METRICS_PORT },
    tracedAs: values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? null : values.OTEL_SERVICE_NAME,
  });
}

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
  const { S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY } = values;
  if (values.OBJECT_STORE === 's3' && S3_ENDPOINT && S3_BUCKET && S3_ACCESS_KEY && S3_SECRET_KEY) {
    return {
      kind: 's3',
      endpoint: S3_ENDPOINT,
      region: S3_REGION,
      bucket: S3_BUCKET,
      accessKey: S3_ACCESS_KEY,
      secretKey: S3_SECRET_KEY,
    };
  }
  return { kind: 'file' };
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
