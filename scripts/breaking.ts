/** `make breaking`: compares the contract with each released one. */
import { join } from 'node:path';
import { breakingChanges, releasedVersions } from './releases.js';

const root = join(import.meta.dirname, '..');
const versions = await releasedVersions(root);
const faults = await breakingChanges(root);
const compared =
  versions.length > 0 ? `Compared with ${versions.join(', ')}.` : 'No contract is released: nothing to break.';
process.stdout.write([...faults, compared].map((line) => `${line}\n`).join(''));
if (faults.length > 0) process.exitCode = 1;
