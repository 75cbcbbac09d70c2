import type { Tracker } from './formatParsers.js';

/** What a picture needs: its kind, what it consists of, and its data. */
const needed = ['ftyp', 'meta', 'mdat'];

/**
 * HEIC (ISO/IEC 23008-12): boxes of length and type up to the end, with a length of 64 bits if the short one is 1, and
 * the rest of the file if it is 0. What does not begin like a box lies behind the picture.
 */
export function trackHeic(): Tracker {
  const header = Buffer.alloc(16);
  const types = new Set<string>();
  let filled = 0;
  let skip = 0;
  let isBehind = false;
  let isOpen = false;

  /** Takes a byte of a header; the bytes that turn out not to be one. */
  const takeHeader = (byte: number): Uint8Array | undefined => {
    header[filled] = byte;
    filled += 1;
    if (filled < 8) return undefined;
    const short = header.readUInt32BE(0);
    const type = header.toString('latin1', 4, 8);
    if (!/^[ -~]{4}$/.test(type) || (short > 1 && short < 8)) {
      isBehind = true;
      return Uint8Array.from(header.subarray(0, filled));
    }
    if (short === 1 && filled < 16) return undefined;
    types.add(type);
    isOpen = short === 0;
    skip = short === 1 ? Number(header.readBigUInt64BE(8)) - 16 : short - 8;
    filled = 0;
    return undefined;
  };

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !isBehind && !isOpen) {
        const step = Math.min(skip, chunk.length - at);
        skip -= step;
        at += step;
        if (at === chunk.length) break;
        const rest = takeHeader(chunk[at] ?? 0);
        at += 1;
        if (rest) return Buffer.concat([rest, chunk.subarray(at)]);
      }
      return isBehind ? chunk : new Uint8Array();
    },
    isWhole: () => needed.every((type) => types.has(type)) && (isOpen || isBehind || (skip === 0 && filled === 0)),
  };
}
