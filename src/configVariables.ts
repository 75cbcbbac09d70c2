import type { FromSchema } from 'json-schema-to-ts';

const text = { type: 'string', minLength: 1 } as const;
const from1To = (maximum: number, fallback: number) =>
  ({ type: 'integer', minimum: 1, maximum, default: fallback }) as const;
const seconds = (fallback: number) => from1To(31_536_000, fallback);
/** A month at least: what is removed cannot be had again, and a mistyped number would remove it. */
const retentionDays = { type: 'integer', minimum: 30, maximum: 36_500 } as const;
const quota = (fallback: number) => from1To(1_000_000, fallback);
export const s3Variables = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'];
/** Name of the format of an address, and its description. */
export const socketAddress = 'host:port or /path';
const origin = 'http(s)://host without a path';
const hosts = {
  type: 'string',
  pattern: '^$|^[^\\s,/:]+:\\d{1,5}(\\s*,\\s*[^\\s,/:]+:\\d{1,5})*$',
  default: '',
  description: 'host:port, or several with commas',
} as const;
const postgresUrl = { type: 'string', pattern: '^postgres(ql)?://.+', description: 'postgresql://…' } as const;

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
    DATABASE_URL: postgresUrl,
    DATABASE_OWNER_URL: postgresUrl,
    DATABASE_POOL_SIZE: from1To(500, 10),
    ACCESS_TOKEN_TTL: seconds(25_200),
    REFRESH_TOKEN_TTL: seconds(2_592_000),
    SIGNING_KEYS_FILE: text,
    OBJECT_STORE: { enum: ['file', 's3'], default: 'file' },
    S3_ENDPOINT: { type: 'string', format: 'uri', pattern: '^https?://', description: 'http(s)://host[:port]' },
    S3_REGION: { ...text, default: 'us-east-1' },
    S3_BUCKET: {
      type: 'string',
      pattern: '^(?!.*\\.\\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
      description: '3 to 63 characters of a-z, 0-9, . and -',
    },
    S3_ACCESS_KEY: text,
    S3_SECRET_KEY: text,
    DOCUMENT_FETCH_ALLOWED_HOSTS: hosts,
    WEBHOOK_ALLOWED_HOSTS: hosts,
    DOCUMENT_SCANNER: { enum: ['none', 'clamav'], default: 'none' },
    CLAMAV_ADDRESS: { type: 'string', format: socketAddress, description: socketAddress },
    VALIDATE_RESPONSES: { type: 'boolean', default: false },
    // A timer of more than 24 days fires at once.
    DRAIN_TIMEOUT: from1To(86_400, 75),
    SHUTDOWN_DELAY: { type: 'integer', minimum: 0, maximum: 3_600, default: 0 },
    MIN_FREE_DISK: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 512 },
    // Above the 60 s after which common load balancers give up an idle connection: they must be the ones to close it.
    KEEP_ALIVE_TIMEOUT: from1To(3_600, 65),
    MAX_CONNECTIONS: from1To(100_000, 5_000),
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
    DOCUMENT_RETENTION_DAYS: retentionDays,
    ENCOUNTER_RETENTION_DAYS: retentionDays,
    METRICS_HOST: { ...text, default: '127.0.0.1' },
    METRICS_PORT: { type: 'integer', minimum: 0, maximum: 65_535 },
    OTEL_EXPORTER_OTLP_ENDPOINT: { type: 'string', format: 'uri', pattern: '^https?://', description: 'http(s)://…' },
    OTEL_SERVICE_NAME: { ...text, default: 'clinical-encounter-service' },
  },
  allOf: [requires('OBJECT_STORE', 's3', s3Variables), requires('DOCUMENT_SCANNER', 'clamav', ['CLAMAV_ADDRESS'])],
} as const;

/** The environment variables of the service, after {@link variables} has coerced them. */
export type Variables = FromSchema<Omit<typeof variables, 'allOf'> & { readonly additionalProperties: false }>;
