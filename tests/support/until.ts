import { setTimeout as delay } from 'node:timers/promises';

/** Waits up to 15 s for a condition: an endless wait would make the runner kill the test file before its clean-up. */
export async function until(condition: () => unknown): Promise<void> {
  const giveUp = performance.now() + 15_000;
  while (!(await condition())) {
    if (performance.now() > giveUp)
      throw new Error(
        `This condition did not hold within 15 s: correct it, or what it waits for: ${condition.toString()}`,
      );
    await delay(5);
  }
}
