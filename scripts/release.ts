/** `make release`: adds the contract and the migrations to the released files. */
import { join } from 'node:path';
import { release } from './releases.js';

await release(join(import.meta.dirname, '..')).then(
  (version) => process.stdout.write(`${version} is released: commit generated/released.\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
