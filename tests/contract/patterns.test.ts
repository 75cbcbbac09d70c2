import { contract } from '../support/contract.js';

// Run in this process: a machine may lack the native program and Java.
process.env['RECHECK_SYNC_BACKEND'] = 'pure';
const { checkSync } = await import('recheck');

/** Without timeouts, a busy machine cannot change the verdict. */
const withoutClock = { timeout: null, incubationTimeout: null, attackTimeout: null };

/** Every pattern of every schema in the contract. */
function patternsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = 'type' in node && 'pattern' in node ? [String(node.pattern)] : [];
  return [...own, ...Object.values(node).flatMap(patternsIn)];
}

it('every regular expression of the contract runs in linear time', () => {
  const patterns = [...new Set(patternsIn(contract))];
  const faults = patterns.flatMap((pattern) => {
    const { status } = checkSync(pattern, 'u', withoutClock);
    return status === 'safe' ? [] : [`${status}: ${pattern}`];
  });
  expect(patterns.length).toBeGreaterThan(15);
  expect(faults).toEqual([]);
});
