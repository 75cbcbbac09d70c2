/** The folders ("rooms") of `src/domain` by layer ("floor"), top first. A file imports from its room or below. */
export const floors: readonly (readonly string[])[] = [
  ['sandbox'],
  ['sweeps'],
  ['documents', 'reviews'],
  ['encounters'],
  ['orders'],
  ['approvals', 'providers'],
  ['audit', 'webhooks'],
  ['patients'],
  ['catalog'],
  ['events'],
  ['access'],
  ['transactions'],
];

/** `src/domain/orders/money.ts` → `orders`; undefined outside of the domain. */
export const roomOf = (path: string): string | undefined => /^src\/domain\/([^/]+)\//.exec(path)?.[1];

/** The number of a room's floor, from the top. */
export const floorOf = (room: string | undefined): number => floors.findIndex((rooms) => rooms.includes(room ?? ''));
