/** The size in bytes at which a page ends even before its limit. */
const MAX_BYTES = 1024 ** 2;

/** How many rows are read at once: the largest have 2 MB. */
const BATCH = 20;

/** The first elements whose JSON fits into 1 MiB; at least one. */
export function withinBytes<Element>(elements: Element[]): Element[] {
  let bytes = 0;
  const end = elements.findIndex((element, index) => (bytes += bytesOf(element)) > MAX_BYTES && index > 0);
  return end === -1 ? elements : elements.slice(0, end);
}

/** Reads rows in batches, until they exceed 1 MiB: no page shows what follows. */
export async function readUntilFull<Id, Row>(
  ids: readonly Id[],
  read: (batch: readonly Id[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let start = 0; start < ids.length && bytesOf(rows, withoutBigInt) <= MAX_BYTES; start += BATCH) {
    rows.push(...(await read(ids.slice(start, start + BATCH))));
  }
  return rows;
}

const bytesOf = (value: unknown, replacer?: (key: string, value: unknown) => unknown): number =>
  Buffer.byteLength(JSON.stringify(value, replacer));

const withoutBigInt = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
