/** Choices that depend only on a seed and a name. */
export interface Random {
  /** A whole number from 0, below `below`. */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** One value, by weight. */
  weighted<T>(list: readonly (readonly [number, T])[]): T;
  /** A UUID. */
  uuid(): string;
}

/** A separate generator for each name, so that removing a client does not change the choices of the others. */
export function randomOf(seed: number, name = ''): Random {
  let state = Buffer.from(name).reduce((sum, byte) => Math.imul(sum ^ byte, 0x01000193), seed ^ 0x811c9dc5);
  // The generator mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  const hex = (digits: number): string => Array.from({ length: digits }, () => int(16).toString(16)).join('');
  return {
    int,
    chance: (probability) => next() < probability,
    pick: (list) => list[int(list.length)] as (typeof list)[number],
    weighted(list) {
      let left = int(list.reduce((sum, [weight]) => sum + weight, 0));
      const [, value] = list.find(([weight]) => (left -= weight) < 0) ?? list[0] ?? [];
      return value as (typeof list)[number][1];
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
