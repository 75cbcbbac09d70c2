/**
 * Serves the contract as a mock on loopback: `tsx scripts/mock.ts [--dynamic] [--port 4010]`. It answers with the
 * contract's examples or, with --dynamic, with data generated from the schemas, equal at every start.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { dynamic: { type: 'boolean', default: false }, port: { type: 'string', default: '4010' } },
});

const prism = spawn(
  process.execPath,
  [
    join(root, 'node_modules/.bin/prism'),
    'mock',
    ...['--host', '127.0.0.1', '--port', values.port],
    ...(values.dynamic ? ['--dynamic', '--seed', '42'] : []),
    join(root, 'generated/dereferenced.json'),
  ],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => prism.kill(signal));
prism.on('exit', (code) => {
  process.exitCode = code ?? 0;
});
