import { resolve } from 'node:path';
import { readConfig, type Config } from '../../src/config.js';
import { configWarnings } from '../../src/runtime/configWarnings.js';

const s3 = {
  OBJECT_STORE: 's3',
  S3_ENDPOINT: 'https://s3.example.com',
  S3_BUCKET: 'documents',
  S3_ACCESS_KEY: 'access',
  S3_SECRET_KEY: 'very secret',
};

const inDataDir = (dataDir: string): Partial<Config> => ({
  ...{ dataDir, signingKeysFile: `${dataDir}/signing-keys.json`, erasureJournal: `${dataDir}/erasures.ndjson` },
});

function refusalOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
  return 'accepted';
}

it('the configuration without any variable has the embedded database, and is frozen', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true);
  expect(readConfig({})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    baseUrl: null,
    logLevel: 'info',
    dataDir: resolve('.data'),
    databaseUrl: null,
    databaseDirectUrl: null,
    databaseOwnerUrl: null,
    pdfFallbackFont: null,
    databasePoolSize: 10,
    accessTokenTtl: 25_200,
    refreshTokenTtl: 2_592_000,
    signingKeysFile: resolve('.data/signing-keys.json'),
    createSigningKeys: true,
    erasureJournal: resolve('.data/erasures.ndjson'),
    backupPassphrase: null,
    objectStore: { kind: 'file' },
    documentFetchAllowedHosts: [],
    webhookAllowedHosts: [],
    documentScanner: { kind: 'none' },
    validateResponses: false,
    drainTimeout: 75_000,
    shutdownDelay: 0,
    minFreeDisk: 512 * 1024 ** 2,
    keepAliveTimeout: 65_000,
    maxConnections: 5_000,
    rateLimit: {
      quotas: { default: 1_200, burst: 200, uploads: 60, bulk: 10, token: 120, 'token-failures': 20, certificates: 20 },
      redisUrl: null,
    },
    trustedProxies: 0,
    metrics: null,
    tracedAs: null,
  } satisfies Config);
});

describe('a variable', () => {
  it.each<[string, string, Partial<Config>]>([
    ['HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['HOST', '::1', { host: '::1' }],
    ['PORT', '0', { port: 0 }],
    ['PORT', '65535', { port: 65_535 }],
    ['BASE_URL', 'https://api.example.com', { baseUrl: 'https://api.example.com' }],
    ['BASE_URL', 'http://localhost:3000', { baseUrl: 'http://localhost:3000' }],
    ['LOG_LEVEL', 'silent', { logLevel: 'silent' }],
    ['DATA_DIR', '/var/lib/ces', inDataDir('/var/lib/ces')],
    ['ERASURE_JOURNAL', '/secure/erasures.ndjson', { erasureJournal: '/secure/erasures.ndjson' }],
    ['BACKUP_PASSPHRASE', 'correct horse', { backupPassphrase: 'correct horse' }],
    ['DATA_DIR', 'data', inDataDir(resolve('data'))],
    [
      'DATABASE_URL',
      'postgresql://u:p@db/ces?sslmode=require',
      { databaseUrl: 'postgresql://u:p@db/ces?sslmode=require' },
    ],
    ['DATABASE_URL', 'postgres://db:5432/ces', { databaseUrl: 'postgres://db:5432/ces' }],
    ['DATABASE_POOL_SIZE', '500', { databasePoolSize: 500 }],
    ['ACCESS_TOKEN_TTL', '60', { accessTokenTtl: 60 }],
    ['REFRESH_TOKEN_TTL', '31536000', { refreshTokenTtl: 31_536_000 }],
    // The service does not create a named file: its absence is a mistake of the operator.
    ['SIGNING_KEYS_FILE', '/run/keys.json', { signingKeysFile: '/run/keys.json', createSigningKeys: false }],
    ['OBJECT_STORE', 'file', { objectStore: { kind: 'file' } }],
    ['DOCUMENT_FETCH_ALLOWED_HOSTS', 'a:80', { documentFetchAllowedHosts: ['a:80'] }],
    ['WEBHOOK_ALLOWED_HOSTS', 'a:80 , b.example:8443', { webhookAllowedHosts: ['a:80', 'b.example:8443'] }],
    ['DOCUMENT_SCANNER', 'none', { documentScanner: { kind: 'none' } }],
    ['VALIDATE_RESPONSES', 'true', { validateResponses: true }],
    ['VALIDATE_RESPONSES', 'false', { validateResponses: false }],
    ['DRAIN_TIMEOUT', '1', { drainTimeout: 1_000 }],
    ['SHUTDOWN_DELAY', '15', { shutdownDelay: 15_000 }],
    ['MIN_FREE_DISK', '0', { minFreeDisk: 0 }],
    ['KEEP_ALIVE_TIMEOUT', '620', { keepAliveTimeout: 620_000 }],
    ['MAX_CONNECTIONS', '100', { maxConnections: 100 }],
    ['RATE_LIMIT', 'off', { rateLimit: null }],
    ['TRUSTED_PROXIES', '1', { trustedProxies: 1 }],
  ])('%s=%s changes only its settings', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toEqual({ ...readConfig({}), ...expected });
  });

  it.each(['PORT', 'DATABASE_URL', 'BASE_URL', 'OBJECT_STORE', 'DOCUMENT_FETCH_ALLOWED_HOSTS', 'SIGNING_KEYS_FILE'])(
    'counts as absent if it is empty: %s',
    (name) => {
      expect(readConfig({ [name]: '' })).toEqual(readConfig({}));
      expect(readConfig({ [name]: undefined })).toEqual(readConfig({}));
    },
  );

  it('is ignored if its name is not one of the service', () => {
    const others = ['PATH', 'PORTS', 'port', 'constructor', '__proto__', 'toString'];
    expect(readConfig(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual(readConfig({}));
  });

  const refused = {
    PORT: ['x', '-1', '65536', '1.5', 'Infinity', '1e400'],
    // No path, because clients would look for the metadata of RFC 8414 outside of it.
    BASE_URL: [
      'api.example.com',
      'ftp://example.com',
      'https://example.com/',
      'https://example.com/ces',
      'https://example.com?x=1',
      'https://example.com#x',
      'https://',
    ],
    LOG_LEVEL: ['loud', 'INFO'],
    DATABASE_URL: ['mysql://root:pass-word-4711@db/x', 'pass-word-4711', 'postgres://'],
    DATABASE_POOL_SIZE: ['0', '501', 'many'],
    ACCESS_TOKEN_TTL: ['0', '7h', '1e400'],
    REFRESH_TOKEN_TTL: ['-5', '31536001'],
    OBJECT_STORE: ['disk', 'S3'],
    S3_ENDPOINT: ['s3.example.com'],
    DOCUMENT_FETCH_ALLOWED_HOSTS: ['a', 'http://a:80', 'a:80/x', 'a:80;b:80', 'a:80,', '*:*'],
    DOCUMENT_SCANNER: ['clamd', 'true'],
    CLAMAV_ADDRESS: [
      '127.0.0.1',
      '127.0.0.1:0',
      '127.0.0.1:65536',
      'tcp://pass-word-4711:3310',
      '::1:3310',
      ':3310',
      'run/clamd.ctl',
      '/',
      'a:1,b:2',
    ],
    VALIDATE_RESPONSES: ['1', 'yes'],
    DRAIN_TIMEOUT: ['0', '86401', 'soon'],
    KEEP_ALIVE_TIMEOUT: ['0', '3601'],
    MAX_CONNECTIONS: ['0', 'all'],
  };

  it.each(Object.entries(refused).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
    '%s=%s is refused with an error that names the variable, and no password',
    (name, value) => {
      const message = refusalOf({ [name]: value });
      expect(message).toMatch(new RegExp(`^Wrong configuration: ${name} must `));
      expect(message).not.toContain('4711');
    },
  );
});

it.each([
  ['PORT', 'x', 'a whole number from 0 to 65535'],
  ['BASE_URL', 'https://example.com/ces', 'an absolute http(s) URL without user, path and query'],
  ['LOG_LEVEL', 'INFO', 'one of trace, debug, info, warn, error, fatal, silent'],
  ['DATABASE_URL', 'mysql://db/x', 'a URL like postgresql://user:password@host:5432/database'],
  ['S3_ENDPOINT', 's3.example.com', 'an http(s) URL'],
  ['S3_BUCKET', 'My_Documents', '3 to 63 characters of a-z, 0-9, . and -, without .. and without . or - at an end'],
  ['DOCUMENT_FETCH_ALLOWED_HOSTS', 'a', 'host:port (no IPv6 address), or several separated by commas'],
  ['CLAMAV_ADDRESS', 'a', 'host:port ([host]:port for IPv6) or /path'],
  ['VALIDATE_RESPONSES', 'yes', 'true or false'],
])('the error of %s=%s states the rule for the variable', (name, value, rule) => {
  expect(refusalOf({ [name]: value })).toBe(`Wrong configuration: ${name} must be ${rule}.`);
});

describe('a warning', () => {
  it.each([
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['log_level', 'LOG_LEVEL'],
    ['LOG_LEVL', 'LOG_LEVEL'],
    ['BASEURL', 'BASE_URL'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['Port', 'PORT'],
    ['S3_ACESS_KEY', 'S3_ACCESS_KEY'],
  ])('asks whether %s should be %s, and does not repeat its value', (name, meant) => {
    expect(configWarnings({ [name]: 'secret-4711' })).toEqual([
      `${name} is not a variable of this service: did you mean ${meant}?`,
    ]);
  });

  it('names variables that have no effect', () => {
    const names = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'];
    expect(configWarnings({ ...s3, OBJECT_STORE: 'file', CLAMAV_ADDRESS: 'a:1' })).toEqual([
      ...names.map((name) => `${name} has no effect without OBJECT_STORE=s3: set both, or neither.`),
      'CLAMAV_ADDRESS has no effect without DOCUMENT_SCANNER=clamav: set both, or neither.',
    ]);
  });

  it('says that a public server without DATABASE_URL works on the embedded database', () => {
    const publicly = { BASE_URL: 'https://api.example.com' };
    expect(configWarnings(publicly)).toEqual([
      'DATABASE_URL is not set: set it, or the embedded database in DATA_DIR is used.',
    ]);
    expect(configWarnings({ ...publicly, DATABASE_URL: 'postgresql://db.example/ces' })).toEqual([]);
    expect(configWarnings({ BASE_URL: 'http://localhost:3000' })).toEqual([]);
  });

  it('says that RATE_LIMIT=off is for load tests', () => {
    expect(configWarnings({ RATE_LIMIT: 'off' })).toEqual([
      'RATE_LIMIT=off: clients may send any number of requests. Use it for load tests only.',
    ]);
    expect(configWarnings({ RATE_LIMIT: 'on' })).toEqual([]);
  });

  it('is not printed for correct, empty or foreign variables', () => {
    const others = ['PATH', 'HOME', 'HOSTNAME', 'USER', 'PORTS', 'TEST_DATABASE_URL', 'AWS_REGION', 'XDG_DATA_DIRS'];
    expect(configWarnings(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([]);
    const right = { ...s3, LOG_LEVEL: 'info', LOGLEVEL: 'info', BASEURL: '', CLAMAV_ADDRESS: '' };
    expect(configWarnings(right)).toEqual([]);
  });
});

describe('the object store s3', () => {
  it('is configured by four variables and a region with a default', () => {
    const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey } = s3;
    const place = { kind: 's3', endpoint, bucket, accessKey, secretKey };
    expect(readConfig(s3).objectStore).toEqual({ ...place, region: 'us-east-1' });
    expect(readConfig({ ...s3, S3_REGION: 'eu-central-1' }).objectStore).toEqual({ ...place, region: 'eu-central-1' });
  });

  it.each(['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'])('requires %s', (name) => {
    expect(refusalOf({ ...s3, [name]: '' })).toBe(`Wrong configuration: ${name} is required with OBJECT_STORE=s3.`);
  });

  it('is not used unless OBJECT_STORE names it', () => {
    expect(readConfig({ ...s3, OBJECT_STORE: '' }).objectStore).toEqual({ kind: 'file' });
  });
});

describe('the scanner clamav', () => {
  it.each([
    ['127.0.0.1:3310', { host: '127.0.0.1', port: 3310 }],
    ['clamd.internal:1', { host: 'clamd.internal', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['/run/clamav/clamd.ctl', { path: '/run/clamav/clamd.ctl' }],
  ])('has the address of CLAMAV_ADDRESS=%s', (text, address) => {
    const { documentScanner } = readConfig({ DOCUMENT_SCANNER: 'clamav', CLAMAV_ADDRESS: text });
    expect(documentScanner).toEqual({ kind: 'clamav', address });
  });

  it('requires CLAMAV_ADDRESS', () => {
    expect(refusalOf({ DOCUMENT_SCANNER: 'clamav' })).toBe(
      'Wrong configuration: CLAMAV_ADDRESS is required with DOCUMENT_SCANNER=clamav.',
    );
  });

  it('is not used unless DOCUMENT_SCANNER names it', () => {
    expect(readConfig({ CLAMAV_ADDRESS: '127.0.0.1:3310' }).documentScanner).toEqual({ kind: 'none' });
  });
});
