import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from 'pg';

const run = promisify(execFile);

/** A built release in its own folder. */
export interface Release {
  readonly version: string;
  readonly folder: URL;
  /** Runs a command of the release's own operator's program. */
  cli(databaseUrl: string, ...args: readonly string[]): Promise<string>;
  /** Fills a tenant with the release's own benchmark code. */
  seed(client: Client, tenantId: string, rows: number): Promise<void>;
}

/** Builds a commit in the folder for temporary files, where later runs find it again. */
export async function buildRelease(version: string, commit: string): Promise<Release> {
  const path = join(tmpdir(), `ces-release-${commit}`);
  if (!existsSync(join(path, 'generated/build/.made'))) {
    await mkdir(path, { recursive: true });
    await run('bash', ['-c', `git archive ${commit} | tar x -C ${path} && make -s -C ${path} build`]);
  }
  return releaseIn(version, pathToFileURL(`${path}/`));
}

export function releaseIn(version: string, folder: URL): Release {
  const program = new URL('generated/build/src/cli/main.js', folder);
  return {
    version,
    folder,
    cli: async (databaseUrl, ...args) => {
      const env = { PATH: process.env['PATH'], DATABASE_URL: databaseUrl };
      const { stdout } = await run(process.execPath, [program.pathname, ...args], { cwd: folder.pathname, env });
      return stdout;
    },
    seed: async (client, tenantId, rows) => {
      const seeds = (await import(new URL('scripts/bench/growthSeed.ts', folder).href)) as {
        readonly seedTenant: Release['seed'];
      };
      await seeds.seedTenant(client, tenantId, rows);
    },
  };
}
