import type { components } from '../../generated/client/contract.js';

type Encounter = components['schemas']['Encounter'];

/** The guide's diagram of an encounter's states, which the build renders as SVG. */
declare const STATES_DIAGRAM: string;

/** A diagram that marks the present status and the next ones, a list of the steps for phones, and a sentence. */
export function States({ status, claimedAt }: Encounter) {
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
  const end = following.length === 0 ? status : 'completed';
  const review = claimedAt === null && end === status ? [] : ['in_review'];
  const steps = [...new Set(['pending_review', ...review, status, end])];
  const items = steps.map((step) => <li aria-current={step === status ? 'step' : undefined}>{step}</li>);
  const next = following.length === 0 ? 'Final.' : `Next: ${following.join(', ')}.`;
  return (
    <>
      <div class="states" aria-hidden="true" dangerouslySetInnerHTML={{ __html: svg.outerHTML }} />
      <ol class="steps">{items}</ol>
      <p class="muted next">{`State: ${status}. ${next}`}</p>
    </>
  );
}
