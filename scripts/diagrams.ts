import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';

/** Matches a Mermaid diagram in Markdown; the group is its source. */
export const MERMAID = /```mermaid\n([\s\S]*?)```/g;

/** Renders a diagram as SVG. The SVG names a remote font, whose import the pages' policies block. */
export const svgOf = (diagram: string, colors: object = {}): string =>
  // With the default spacing of 48 pixels, an arrow of the encounter's states ends behind its state, without a head.
  renderMermaidSVG(diagram, { transparent: true, padding: 8, layerSpacing: 40, ...colors })
    .replaceAll(/^ *@import .*$/gm, '')
    .replaceAll(/\s+/g, ' ');

/** The guide's diagram of an encounter's states, as SVG without styles: the page that shows it has its own. */
export async function statesDiagram(): Promise<string> {
  const guide = await readFile(join(import.meta.dirname, '../openapi/info.md'), 'utf8');
  const { value: [, diagram] = [] } = guide
    .slice(guide.indexOf('\n# The life of an encounter\n'))
    .matchAll(MERMAID)
    .next();
  if (!diagram) throw new Error('The guide has no diagram of the life of an encounter.');
  return svgOf(diagram)
    .replace(/<style>.*<\/style>/, '')
    .replaceAll(/ style="[^"]*"/g, '');
}
