/**
 * Checks every case and fails with a list of all failed ones, so that the first failure does not hide the others.
 * @param nameOf the name of a case in that list
 * @param atOnce concurrent checks; more than one only if the cases do not influence each other
 */
export async function everyCase<T>(
  cases: readonly T[],
  nameOf: (one: T) => string,
  check: (one: T) => unknown,
  atOnce = 1,
): Promise<void> {
  // Fail like `it.each`, because an empty list would pass without checking anything.
  if (cases.length === 0) throw new Error('everyCase got an empty list, and would check nothing: correct the list');
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

/** The message of the error and the line of the test that threw it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split('\n').find((text) => /^ +at .*\.test\.ts/.test(text));
  return line === undefined ? error.message : `${error.message}\n${line}`;
}
