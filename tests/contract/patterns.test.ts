import { contract } from '../support/contract.js';

// In this process, not by a native program or Java, which a machine may lack.
process.env['RECHECK_SYNC_BACKEND'] = 'pure';
const { checkSync } = await import('recheck');

/** A busy machine must not make a verdict of a delay. */
const withoutClock = { timeout: null, incubationTimeout: null, attackTimeout: null };

/** Every pattern of a schema, wherever in the contract. */
function patternsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = 'type' in node && 'pattern' in node ? [String(node.pattern)] : [];
  return [...own, ...Object.values(node).flatMap(patternsIn)];
}

it('no pattern of the contract takes more than linear time, whatever the text', () => {
  const patterns = [...new Set(patternsIn(contract))];
  const faults = patterns.flatMap((pattern) => {
    const { status } = checkSync(pattern, 'u', withoutClock);
    return status === 'safe' ? [] : [`${status}: ${pattern}`];
  });
  expect(patterns.length).toBeGreaterThan(15);
  expect(faults).toEqual([]);
}, 60_000);
