import { EnvError, makeExactValidator } from 'envalid';

/** The address of a server: TCP, or the absolute path of a Unix socket. */
export type SocketAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** A kind of variable. Errors and the operator's table state its `rule`; errors never quote values, which may be secrets. */
function kind<T>(rule: string, parse: (text: string) => T | undefined) {
  const validator = makeExactValidator<T>((text) => {
    const value = parse(text);
    if (value === undefined) throw new EnvError(`must be ${rule}.`);
    return value;
  });
  return {
    or: (fallback: NonNullable<T>, desc: string) => validator({ default: fallback, desc, example: rule }),
    optional: (desc: string) => validator({ default: undefined, desc, example: rule }),
    requiredWith: (name: string, value: string, desc: string) =>
      validator({ default: undefined, desc, example: rule, requiredWhen: (values) => values[name] === value }),
  };
}
const matching = (rule: string, pattern: RegExp) => kind(rule, (text) => (pattern.test(text) ? text : undefined));
const oneOf = <Choice extends string>(...choices: readonly Choice[]) =>
  kind(`one of ${choices.join(', ')}`, (text) => choices.find((choice) => choice === text));
const integer = (min: number, max: number) =>
  kind(`a whole number from ${min} to ${max}`, (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    return number >= min && number <= max ? number : undefined;
  });

const text = matching('a text that is not blank', /\S/);
const bucket = matching(
  '3 to 63 characters of a-z, 0-9, . and -, without .. and without . or - at an end',
  /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
);
const boolean = kind('true or false', (value) => (value === 'true' ? true : value === 'false' ? false : undefined));
const port = integer(0, 65_535);
const seconds = integer(1, 31_536_000);
const quota = integer(1, 1_000_000);
const httpUrl = kind('an http(s) URL', (value) => (/^https?:/.test(value) && URL.canParse(value) ? value : undefined));
const origin = kind('an absolute http(s) URL without user, path and query', (value) =>
  /^https?:\/\/[^/?#@\s]+$/.test(value) && URL.canParse(value) ? value : undefined,
);
const postgresUrl = matching('a URL like postgresql://user:password@host:5432/database', /^postgres(ql)?:\/\/./);
const redisUrl = matching('a URL like rediss://host:6379', /^rediss?:\/\/./);
const hosts = kind('host:port (no IPv6 address), or several separated by commas', (value) => {
  const list = value.split(',').map((host) => host.trim());
  return list.every((host) => /^[^\s,/:]+:\d{1,5}$/.test(host)) ? list : undefined;
});
/** Parses host:port or a path; IPv6 addresses are in brackets. */
const socketAddress = kind('host:port ([host]:port for IPv6) or /path', (value): SocketAddress | undefined => {
  if (/^\/[^\0]+$/.test(value)) return { path: value };
  const [, literal, name, digits] = /^(?:\[([\da-f:.]+)\]|([^\s,/:@[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const [host, number] = [literal ?? name, Number(digits)];
  return host !== undefined && number >= 1 && number <= 65_535 ? { host, port: number } : undefined;
});

/** Every environment variable of the service; `make generate` writes the operator's table from it. */
export const variables = {
  PORT: port.or(3000, 'Port; 0 = any free one'),
  HOST: text.or('127.0.0.1', 'Address to listen on; `0.0.0.0` = all'),
  BASE_URL: origin.optional('Public URL, the same on every server; default `http://HOST:PORT` ([install](install.md))'),
  DATABASE_URL: postgresUrl.optional('PostgreSQL 15 to 18; default: the embedded one ([database](database.md))'),
  DATABASE_OWNER_URL: postgresUrl.optional(
    'URL for migrations, with the role that owns the schema, not of a pooler; default: the role of `DATABASE_URL` owns it',
  ),
  DATABASE_DIRECT_URL: postgresUrl.optional(
    'URL of the database itself, if `DATABASE_URL` is the URL of a pooler in transaction mode ([database](database.md#pooler))',
  ),
  DATABASE_POOL_SIZE: integer(1, 500).or(10, 'Connections for requests; jobs and webhooks use 13 more'),
  DATA_DIR: text.or('.data', 'Folder of the embedded database, signing keys, stored files and demo credentials'),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').or('info', 'Lowest level to log'),
  ACCESS_TOKEN_TTL: seconds.or(25_200, 'Seconds that an access token is valid'),
  REFRESH_TOKEN_TTL: seconds.or(2_592_000, 'Seconds that a refresh token is valid'),
  SIGNING_KEYS_FILE: text.optional('Existing file of private keys (JWKS); default: `signing-keys.json` in `DATA_DIR`'),
  OBJECT_STORE: oneOf('file', 's3').or('file', 'Where documents are stored: `file` is `DATA_DIR`'),
  S3_ENDPOINT: httpUrl.requiredWith('OBJECT_STORE', 's3', '`https://host[:port]`'),
  S3_REGION: text.or('us-east-1', 'Region for signatures'),
  S3_BUCKET: bucket.requiredWith('OBJECT_STORE', 's3', 'Existing bucket'),
  S3_ACCESS_KEY: text.requiredWith('OBJECT_STORE', 's3', 'Access key'),
  S3_SECRET_KEY: text.requiredWith('OBJECT_STORE', 's3', 'Secret key'),
  DOCUMENT_FETCH_ALLOWED_HOSTS: hosts.or([], 'Hosts (`host:port,…`) for documents over http or at private addresses'),
  WEBHOOK_ALLOWED_HOSTS: hosts.or([], 'Hosts (`host:port,…`) for webhooks over http or at private addresses'),
  DOCUMENT_SCANNER: oneOf('none', 'clamav').or('none', '`clamav`: clamd scans documents before they are stored'),
  CLAMAV_ADDRESS: socketAddress.requiredWith('DOCUMENT_SCANNER', 'clamav', '`host:port` or `/path` of the socket'),
  PDF_FALLBACK_FONT: text.optional(
    'Font file for certificates with characters that DejaVu Sans lacks, such as Chinese ones; of a collection: `file#PostScript name`',
  ),
  VALIDATE_RESPONSES: boolean.or(false, 'Check successful responses against the contract; always on for sandboxes'),
  // Node fires a timer of more than 24 days at once, so the limit is a day.
  DRAIN_TIMEOUT: integer(1, 86_400).or(75, 'Seconds for running requests after SIGTERM; an upload may take 70 seconds'),
  SHUTDOWN_DELAY: integer(0, 3_600).or(0, 'Seconds after SIGTERM to accept connections while `/readyz` fails'),
  MIN_FREE_DISK: integer(0, 1_000_000_000).or(512, 'MiB free in `DATA_DIR`; with less, `ces doctor` fails'),
  // Longer than the 60 s of common load balancers: they must close idle connections first.
  KEEP_ALIVE_TIMEOUT: integer(1, 3_600).or(65, "Seconds to keep an idle connection; more than the load balancer's"),
  MAX_CONNECTIONS: integer(1, 100_000).or(5_000, 'Connections per process; an idle one takes about 10 KiB'),
  RATE_LIMIT: oneOf('on', 'off').or('on', '`off`: no limits, for load tests'),
  RATE_LIMIT_REQUESTS: quota.or(1_200, 'Requests of a client per minute; `client update` sets another limit'),
  RATE_LIMIT_BURST: quota.or(200, 'Requests of a client per second and process; a higher own limit raises it'),
  RATE_LIMIT_UPLOADS: quota.or(60, 'Document uploads of a client per minute'),
  RATE_LIMIT_BULK: quota.or(10, 'Resets and clock moves of a sandbox, and replays of webhooks, per client and minute'),
  RATE_LIMIT_TOKENS: quota.or(120, 'Tokens issued to a client per minute'),
  RATE_LIMIT_TOKEN_FAILURES: quota.or(
    20,
    'Failed token requests per minute, by client and address; certificate verifications, by address',
  ),
  RATE_LIMIT_REDIS_URL: redisUrl.optional('Redis or Valkey: limits apply to all servers, not to each process'),
  TRUSTED_PROXIES: integer(0, 10).or(0, 'Proxies that append to `X-Forwarded-For`; 0 = the peer is the caller'),
  ERASURE_JOURNAL: text.optional('File of erasures that a restore repeats; default: `erasures.ndjson` in `DATA_DIR`'),
  BACKUP_PASSPHRASE: text.optional('Encrypts the keys of `backup create --with-keys` ([backup](backup.md))'),
  METRICS_PORT: port.optional('Port of Prometheus metrics; without it, metrics are off ([monitoring](monitoring.md))'),
  METRICS_HOST: text.or('127.0.0.1', 'Address that `METRICS_PORT` listens on'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional('Collector for a span of every request ([monitoring](monitoring.md))'),
  OTEL_SERVICE_NAME: text.or('clinical-encounter-service', 'Name of the service in traces'),
};

/** For each prefix, the condition (`VARIABLE` or `VARIABLE=value`) without which its variables have no effect. */
const CONDITIONS = {
  S3_: 'OBJECT_STORE=s3',
  CLAMAV_: 'DOCUMENT_SCANNER=clamav',
  DATABASE_OWNER_URL: 'DATABASE_URL',
  DATABASE_DIRECT_URL: 'DATABASE_URL',
  METRICS_HOST: 'METRICS_PORT',
};
export const conditionOf = (name: string): string | undefined =>
  Object.entries(CONDITIONS).find(([prefix]) => name.startsWith(prefix))?.[1];
