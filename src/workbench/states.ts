import type { components } from '../../generated/client/contract.js';
import { element } from './page.js';

type State = components['schemas']['Encounter']['status'];

/** The guide's diagram of an encounter's states, which the build renders as SVG. */
declare const STATES_DIAGRAM: string;

/** The diagram of states, with marks at the present one and the transitions that can follow, and the same in words. */
export function stateDiagram(status: State): HTMLElement[] {
  const svg = new DOMParser().parseFromString(STATES_DIAGRAM, 'image/svg+xml').documentElement;
  const mark = (selector: string, look: string): Element[] => {
    const marked = [...svg.querySelectorAll(selector)];
    for (const each of marked) each.classList.add(look);
    return marked;
  };
  mark(`[data-id="${status}"]`, 'present');
  const following = mark(`.edge[data-from="${status}"]`, 'next').map((edge) => {
    mark(`[data-id="${edge.getAttribute('data-to')}"]`, 'next');
    return `${edge.getAttribute('data-to')} (${edge.getAttribute('data-label')})`;
  });
  mark(`.edge-label[data-from="${status}"]`, 'next');
  svg.setAttribute('aria-hidden', 'true');
  const next = following.length > 0 ? `Next: ${following.join(', ')}.` : 'Final.';
  return [element('div', { class: 'states' }, svg), element('p', { class: 'muted next' }, `State: ${status}. ${next}`)];
}
