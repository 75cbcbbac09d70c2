/** Bundles the workbench to generated/docs/workbench, with the guide's diagram of an encounter's states. */
import { join } from 'node:path';
import { build } from 'esbuild';
import { statesDiagram } from './diagrams.js';

const root = join(import.meta.dirname, '..');
await build({
  entryPoints: ['main.ts', 'index.html', 'workbench.css'].map((name) => join(root, 'src/workbench', name)),
  outdir: join(root, 'generated/docs/workbench'),
  define: { STATES_DIAGRAM: JSON.stringify(await statesDiagram()) },
  loader: { '.html': 'copy' },
  ...{ bundle: true, minify: true, format: 'esm', target: 'es2022' },
});
