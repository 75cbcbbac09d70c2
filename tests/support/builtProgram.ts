import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

/** The path of a compiled program, such as `main.js`. @throws Error without a build */
export function builtProgram(name: string, root = packageRoot): string {
  const path = fileURLToPath(new URL(`generated/build/src/${name}`, root));
  if (!existsSync(path)) throw new Error(`${path} is missing: run "make build".`);
  return path;
}
