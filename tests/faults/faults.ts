/** `make faults` runs full sizes and prints figures; `make test` runs small sizes. */
export const isFull = process.env['FAULTS'] === 'full';

/** Prints a figure of a fault, in a full run. */
export function figure(what: string, value: string): void {
  if (isFull) process.stderr.write(`  ${what}: ${value}\n`);
}

/** The value below which this part (0 to 1) of the values lies. */
export function percentile(values: readonly number[], part: number): number {
  return [...values].sort((one, other) => one - other)[Math.floor(part * (values.length - 1))] ?? NaN;
}

/** How often each value occurs. */
export function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
