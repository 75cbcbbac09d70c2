import { readFile } from 'node:fs/promises';
import type { EncounterState } from '../../../src/contract.js';
import {
  dueEvent,
  encounterTransitions,
  nextState,
  type EncounterActor,
  type EncounterEvent,
} from '../../../src/domain/encounters/states.js';
import { everyCase } from '../../support/everyCase.js';
import { packageRoot } from '../../../src/packageRoot.js';
import { Problem } from '../../../src/problem.js';

const open = ['pending_review', 'in_review', 'awaiting_information'] as const;
const final = ['completed', 'denied', 'cancelled', 'expired'] as const;
const states = [...open, ...final];
const claimantEvents = ['renew', 'release', 'approve', 'deny', 'ask'] as const;
const otherEvents = [
  'claim',
  'lapse',
  'inform',
  'reschedule',
  'revise',
  'cancel',
  'expire',
  'revoke',
  'amend',
] as const;
const events = [...claimantEvents, ...otherEvents];
const actors = ['partner', 'provider', 'claimant', 'system'] as const;

/** Every transition that is allowed. */
const possible: readonly [EncounterState, EncounterEvent, EncounterActor, EncounterState][] = [
  ['pending_review', 'claim', 'provider', 'in_review'],
  ['pending_review', 'inform', 'partner', 'pending_review'],
  ['pending_review', 'reschedule', 'partner', 'pending_review'],
  ['pending_review', 'revise', 'partner', 'pending_review'],
  ['pending_review', 'cancel', 'partner', 'cancelled'],
  ['pending_review', 'cancel', 'provider', 'cancelled'],
  ['pending_review', 'expire', 'system', 'expired'],
  ['in_review', 'renew', 'claimant', 'in_review'],
  ['in_review', 'release', 'claimant', 'pending_review'],
  ['in_review', 'lapse', 'system', 'pending_review'],
  ['in_review', 'approve', 'claimant', 'completed'],
  ['in_review', 'deny', 'claimant', 'denied'],
  ['in_review', 'ask', 'claimant', 'awaiting_information'],
  ['in_review', 'inform', 'partner', 'in_review'],
  ['in_review', 'cancel', 'partner', 'cancelled'],
  ['in_review', 'cancel', 'provider', 'cancelled'],
  ['awaiting_information', 'inform', 'partner', 'pending_review'],
  ['awaiting_information', 'cancel', 'partner', 'cancelled'],
  ['awaiting_information', 'cancel', 'provider', 'cancelled'],
  ['awaiting_information', 'expire', 'system', 'expired'],
  ['completed', 'revoke', 'provider', 'completed'],
  ['completed', 'amend', 'provider', 'completed'],
  ['denied', 'amend', 'provider', 'denied'],
];

const cases = states.flatMap((from) => events.flatMap((event) => actors.map((actor) => [from, event, actor] as const)));

/** The next state, or the code of the problem with the state that it shows. */
function result(from: EncounterState, event: EncounterEvent, actor: EncounterActor): string {
  try {
    return nextState(from, event, actor);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [error.code, ...Object.values(error.extra)].join(' ');
  }
}

describe('the table of transitions', () => {
  it('has the state changes that the diagram of the guide shows', async () => {
    const guide = await readFile(new URL('openapi/info.md', packageRoot), 'utf8');
    const [, diagram = ''] = /# The life of an encounter\n+```mermaid\n([^`]*)```/.exec(guide) ?? [];
    const arrows = [...diagram.matchAll(/(\w+) --> (\w+): (.+)/g)];
    const shown = arrows.flatMap(([, from, to, labels = '']) =>
      labels.split(', ').map((event) => [from, event, to].join(' ')),
    );
    const changing = possible.filter(([from, , , to]) => from !== to).map(([from, event, , to]) => [from, event, to]);
    expect(shown.sort()).toEqual([...new Set(changing.map((change) => change.join(' ')))].sort());
  });

  it('has every state, and no transition from one of the four final ones to another state', () => {
    expect(Object.keys(encounterTransitions)).toEqual(states);
    for (const state of final) {
      expect(Object.values(encounterTransitions[state]).filter(({ to }) => to !== state)).toEqual([]);
    }
  });

  it('allows exactly the listed transitions, of all events in all states by all actors', () =>
    everyCase(cases, String, ([from, event, actor]) => {
      const transition = possible.find((known) => known[0] === from && known[1] === event && known[2] === actor);
      const isForClaimant = from === 'in_review' && claimantEvents.some((known) => known === event);
      const isOtherProvider = actor === 'provider' && isForClaimant;
      expect(result(from, event, actor)).toBe(
        transition?.[3] ?? (isOtherProvider ? 'claimed_by_other' : `invalid_state ${from}`),
      );
    }));
});

describe('a deadline', () => {
  const time = new Date('2026-11-20T16:00:00.000Z');
  const before = new Date(time.getTime() - 1);

  it('lapses a claim at the end of its lease, not a millisecond earlier', () => {
    const claimed = { status: 'in_review', leaseExpiresAt: time, expiresAt: before } as const;
    expect([dueEvent(claimed, before), dueEvent(claimed, time)]).toEqual([null, 'lapse']);
  });

  it.each(['pending_review', 'awaiting_information'] as const)(
    'expires an encounter that is %s at its end, not a millisecond earlier',
    (status) => {
      const waiting = { status, leaseExpiresAt: null, expiresAt: time } as const;
      expect([dueEvent(waiting, before), dueEvent(waiting, time)]).toEqual([null, 'expire']);
    },
  );

  it.each(final)('has no effect on an encounter that is %s', (status) => {
    expect(dueEvent({ status, leaseExpiresAt: null, expiresAt: before }, time)).toBeNull();
  });
});
