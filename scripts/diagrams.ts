import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';

/** Matches a Mermaid diagram in Markdown; the group is its source. */
export const MERMAID = /```mermaid\n([\s\S]*?)```/g;

/**
 * The layout begins a cycle at the state that more arrows leave than enter. Two hidden arrows make it begin with a
 * claim. Two to each of `completed` and `denied` put these at the bottom; with one, an arrow ends behind its state.
 */
const CLAIM = '  pending_review --> in_review: claim\n';
const HIDDEN = '  pending_review --> in_review: hidden\n';
const BELOW = '  awaiting_information --> completed: hidden\n  awaiting_information --> denied: hidden\n';

/** Renders a diagram as SVG, without the import of a remote font, which the pages' policies would block. */
export const svgOf = (diagram: string, colors: object = {}): string =>
  // With the default of 48 pixels between layers, an arrow of the encounter's states ends behind its state, without a head.
  renderMermaidSVG(diagram.replace(CLAIM, `${HIDDEN}${CLAIM}${HIDDEN}${BELOW}${BELOW}`), {
    ...{ transparent: true, padding: 8, layerSpacing: 40, nodeSpacing: 24 },
    ...colors,
  })
    .replaceAll(/^ *@import .*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<polyline[^>]* data-label="hidden"[^>]*>|<g [^>]* data-label="hidden">.*?<\/g>/g, '');

/** The guide's diagram of an encounter's states, as SVG without styles: the page that shows it has its own. */
export async function statesDiagram(): Promise<string> {
  const guide = await readFile(join(import.meta.dirname, '../openapi/info.md'), 'utf8');
  const { value: [, diagram] = [] } = guide
    .slice(guide.indexOf('\n# The life of an encounter\n'))
    .matchAll(MERMAID)
    .next();
  if (!diagram) throw new Error('openapi/info.md needs a Mermaid diagram below "# The life of an encounter".');
  return svgOf(diagram)
    .replace(/<style>.*<\/style>/, '')
    .replaceAll(/ style="[^"]*"/g, '');
}
