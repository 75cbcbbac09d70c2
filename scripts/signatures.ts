/**
 * Verifies the registry's signatures of all installed packages. Does not fail if the registry, or Sigstore, which publishes
 * its keys, cannot be reached: then nothing can be verified, and a message says so.
 */
import { spawnSync } from 'node:child_process';

interface Audit {
  readonly error?: { readonly code: string; readonly summary: string };
  readonly invalid?: readonly Package[];
  readonly missing?: readonly Package[];
}

interface Package {
  readonly name: string;
  readonly version: string;
}

const unreachable = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'ERR_SOCKET_TIMEOUT'];

// Do not retry: retries take more than a minute.
const { stdout } = spawnSync('npm', ['audit', 'signatures', '--json', '--fetch-retries=0'], { encoding: 'utf8' });
const { error, invalid = [], missing = [] } = JSON.parse(stdout) as Audit;
for (const [fault, packages] of Object.entries({ invalid, missing })) {
  for (const { name, version } of packages)
    process.stderr.write(
      `${name}@${version}: ${fault} signature: install another version, or from a registry that signs it\n`,
    );
}
if (error) {
  const advice = 'Correct that, then run "make signatures" again.';
  process.stderr.write(`The signatures of packages were not verified: ${error.summary}. ${advice}\n`);
}
const failed = error ? !unreachable.includes(error.code) : invalid.length + missing.length > 0;
process.exitCode = failed ? 1 : 0;
