/** Bundles the workbench to generated/docs/workbench, with the guide's diagram of an encounter's states. */
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { statesDiagram } from './diagrams.js';
import { writePage } from './writePage.js';

const root = join(import.meta.dirname, '..');
const { outputFiles } = await build({
  entryPoints: ['main.ts', 'index.html', 'workbench.css'].map((name) => join(root, 'src/workbench', name)),
  outdir: '/',
  define: { STATES_DIAGRAM: JSON.stringify(await statesDiagram()) },
  loader: { '.html': 'copy' },
  ...{ bundle: true, minify: true, write: false, format: 'esm', target: 'es2022' },
});
for (const { path, text } of outputFiles) await writePage(`workbench/${basename(path)}`, text);
