import { spawnSync } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { OTHER_CONNECTIONS } from '../../src/cli/checks/databaseChecks.js';
import { packageRoot } from '../../src/packageRoot.js';
import { tlsFiles } from '../support/tlsFiles.js';
import { everyCase } from '../support/everyCase.js';
import { temporaryFolder } from '../support/folder.js';
import { isThere, packages } from '../support/optional.js';
import { hasPromtool, promtool } from '../support/promtool.js';
import { hasTools, tools } from '../support/tools.js';

// The files that operators start from to deploy the service, checked by the programs that read them.

const kit = fileURLToPath(new URL('scripts/production/kit/', packageRoot));
const folder = temporaryFolder();
const read = (name: string): Promise<string> => readFile(`${kit}${name}`, 'utf8');
const isInstalled = (program: string, name: string): boolean =>
  isThere(spawnSync(program, ['-v']).error === undefined, `the check of ${name}`, packages(name));

/** The output of a program that must succeed. */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout + stderr;
}

/** Copies a file of the kit, with these `paths` replaced by those of an existing certificate and key. */
async function withCertificate(name: string, paths: Readonly<Record<string, string>>): Promise<string> {
  const { 'server.crt': crt, 'server.key': key } = tlsFiles;
  for (const [kind, content] of Object.entries({ crt, key, pem: crt + key })) await writeFile(folder(kind), content);
  const text = Object.entries(paths).reduce((each, [path, kind]) => each.replace(path, folder(kind)), await read(name));
  await writeFile(folder(name), text);
  return folder(name);
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Record<string, any>;
  readonly data: Record<string, string>;
}

(isInstalled('systemd-analyze', 'systemd') ? it : it.skip)(
  'systemd accepts the units and timers, and rates the exposure of the server at 2.0 or less',
  () => {
    for (const name of ['.service', '-daily.timer', '-drill.timer']) {
      expect(run('systemd-analyze', ['verify', `${kit}clinical-encounter${name}`])).toBe('');
    }
    const unit = `${kit}clinical-encounter.service`;
    const report = run('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
    expect(report).toMatch(/Overall exposure level for clinical-encounter\.service: [01]\.\d/);
  },
);

(isInstalled('nginx', 'nginx-light') ? it : it.skip)('nginx accepts its configuration', async () => {
  await withCertificate('nginx.conf', {
    '/etc/ssl/api.example.com.crt': 'crt',
    '/etc/ssl/private/api.example.com.key': 'key',
  });
  const paths = `pid ${folder('pid')}; events {} http { include ${folder('nginx.conf')}; }`;
  await writeFile(folder('main.conf'), paths);
  expect(run('nginx', ['-t', '-p', folder(), '-c', folder('main.conf'), '-e', folder('log')])).toContain(
    'is successful',
  );
});

(isInstalled('haproxy', 'haproxy') ? it : it.skip)('haproxy accepts its configuration without a warning', async () => {
  const file = await withCertificate('haproxy.cfg', { '/etc/haproxy/api.example.com.pem': 'pem' });
  expect(run('haproxy', ['-c', '-f', file])).toBe('Configuration file is valid\n');
});

(isInstalled('docker-compose', 'docker-compose') ? it : it.skip)(
  'Compose accepts its file once secrets are set',
  () => {
    const check = ['-f', `${kit}compose.yaml`, 'config', '-q'];
    const secrets = {
      OWNER_PASSWORD: 'a',
      SERVICE_PASSWORD: 'b',
      S3_SECRET_KEY: 'c',
      GRAFANA_PASSWORD: 'd',
      BACKUP_PASSPHRASE: 'e',
    };
    const env = { ...secrets, BASE_URL: 'https://api.example.com' };
    expect(run('docker-compose', check, env)).toBe('');
    expect(() => run('docker-compose', check, { ...env, SERVICE_PASSWORD: '' })).toThrow(/: SERVICE_PASSWORD\n/);
  },
);

(hasPromtool() ? it : it.skip)('Prometheus accepts its configuration with the alert rules', async () => {
  await cp(`${kit}prometheus.yml`, folder('prometheus.yml'));
  await cp(fileURLToPath(new URL('scripts/production/monitoring/alerts.yml', packageRoot)), folder('alerts.yml'));
  expect(promtool(['check', 'config', folder('prometheus.yml')])).toBe('');
});

const manifests = parseAllDocuments(await read('kubernetes.yaml')).map((document) => document.toJS() as Manifest);
const named = (name: string) => manifests.find(({ kind }) => kind === name) as Manifest;

(hasTools() ? it : it.skip)('every Kubernetes manifest conforms to the schema of its kind', () => {
  const require = createRequire(`${tools}/`);
  return everyCase(
    manifests,
    ({ kind }) => kind,
    async (manifest) => {
      const kinds = require(`kubernetes-models/${manifest.apiVersion}`) as Record<
        string,
        new (data: Manifest) => { validate(): void }
      >;
      const { [manifest.kind]: Model } = kinds;
      if (!Model) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}: correct kubernetes.yaml`);
      new Model(manifest).validate();
    },
  );
});

describe('in Kubernetes,', () => {
  it('the Deployment gives a server more time to stop than SHUTDOWN_DELAY and DRAIN_TIMEOUT take', () => {
    const { spec } = named('Deployment').spec['template'];
    const { data } = named('ConfigMap');
    const [{ readinessProbe }] = spec.containers;
    const delay = Number(data['SHUTDOWN_DELAY']);
    expect(delay).toBeGreaterThan(readinessProbe.periodSeconds * readinessProbe.failureThreshold);
    // DRAIN_TIMEOUT has its default of 75 seconds.
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(delay + 75);
  });

  it('the autoscaler states a max_connections that is enough for all servers, the extra ones of an upgrade, and the scheduled tasks', () => {
    const { metadata, spec } = named('HorizontalPodAutoscaler');
    const { maxSurge } = named('Deployment').spec['strategy'].rollingUpdate;
    const servers = Number(spec['maxReplicas']) + Number(maxSurge);
    const needed = servers * (Number(named('ConfigMap').data['DATABASE_POOL_SIZE']) + OTHER_CONNECTIONS);
    // Three are reserved for superusers.
    expect(Number(metadata.annotations['clinical-encounter/max-connections'])).toBeGreaterThanOrEqual(needed + 10 + 3);
  });

  it('the network policy admits the usual ports of DNS, HTTPS, PostgreSQL, Redis, ClamAV, OpenTelemetry and S3', () => {
    const ports = named('NetworkPolicy').spec['egress'][0].ports.map(({ port }: { port: number }) => port);
    expect(ports).toEqual(expect.arrayContaining([53, 443, 5432, 6379, 3310, 4317, 4318, 8333, 9000]));
  });
});

it('the systemd units permit the system calls of V8, and watchdog reports from a child process of the server', async () => {
  const units = await Promise.all(['', '-task@'].map((name) => read(`clinical-encounter${name}.service`)));
  for (const unit of units) expect(unit).toMatch(/^SystemCallFilter=@system-service @pkey$/m);
  expect(units[0]).toMatch(/^WatchdogSec=30\nNotifyAccess=all$/m);
});

it('Dockerfile and systemd unit start the server by scripts/serve', async () => {
  expect(await read('Dockerfile')).toContain('ENTRYPOINT ["/service/scripts/serve"]\n');
  const [, folder = ''] = /^WorkingDirectory=(.*)$/m.exec(await read('clinical-encounter.service')) ?? [];
  expect(await read('clinical-encounter.service')).toContain(`ExecStart=/bin/sh ${folder}/scripts/serve\n`);
});
