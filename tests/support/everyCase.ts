/**
 * Checks every case, and fails with the list of those that do not hold: one that fails does not hide the others.
 * @param nameOf what the list calls a case
 * @param atOnce how many are checked at the same time: more than one only where none changes what another one sees
 */
export async function everyCase<T>(
  cases: readonly T[],
  nameOf: (one: T) => string,
  check: (one: T) => unknown,
  atOnce = 1,
): Promise<void> {
  // As with `it.each`: a list that has become empty guards nothing.
  if (cases.length === 0) throw new Error('there is no case to check');
  const faults = new Map<number, string>();
  const waiting = cases.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of waiting) {
      try {
        await check(one);
      } catch (error) {
        faults.set(index, `● ${nameOf(one)}: ${reasonOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (faults.size === 0) return;
  const inOrder = [...faults].sort(([one], [other]) => one - other).map(([, fault]) => fault);
  throw new Error(`${faults.size} of ${cases.length} cases do not hold\n\n${inOrder.join('\n\n')}`);
}

/** What was expected, and the line of the test that expected it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split('\n').find((text) => /^ +at .*\.test\.ts/.test(text));
  return line === undefined ? error.message : `${error.message}\n${line}`;
}
