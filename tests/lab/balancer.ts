import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/packageRoot.js';
import { isThere, packages } from '../support/optional.js';
import { part, type Part } from '../support/part.js';

export interface Balancer extends Part {
  readonly url: string;
}

/** Whether this machine has haproxy; as {@link isThere}. */
export function hasHaproxy(): boolean {
  return isThere(spawnSync('haproxy', ['-v']).status === 0, 'the lab behind haproxy', packages('haproxy'));
}

/** haproxy with the configuration of the kit, which has three servers. */
export async function balancer(folder: string, port: number, servers: readonly number[]): Promise<Balancer> {
  const kit = await readFile(new URL('scripts/production/kit/haproxy.cfg', packageRoot), 'utf8');
  const text = servers.reduce(
    (each, server, index) => each.replace(`10.0.0.1${index + 1}:3000`, `127.0.0.1:${server}`),
    kit.replace(/^ {2}bind .*$/m, `  bind 127.0.0.1:${port}`),
  );
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  const url = `http://127.0.0.1:${port}`;
  const isReady = (): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return { url, ...part({ command: ['haproxy', '-f', file], isReady, cwd: folder }) };
}
