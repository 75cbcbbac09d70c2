/** Follows a file while it passes, in chunks of any size, to find where it ends by its own format. */
export interface Tracker {
  /** Takes the next bytes and gives back those that lie behind the end. */
  push(chunk: Uint8Array): Uint8Array;
  /** Whether the end has passed; `size` is that of the file, in bytes. */
  isWhole(size: number): boolean;
}

/** PNG (W3C, 5.2): eight bytes, then chunks of length, type, data and checksum, the last of which is IEND. */
export function trackPng(): Tracker {
  const header = Buffer.alloc(8);
  let filled = 0;
  let skip = 8;
  let isLast = false;
  let isDamaged = false;
  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !isDamaged && !(isLast && skip === 0)) {
        if (skip > 0) {
          const step = Math.min(skip, chunk.length - at);
          skip -= step;
          at += step;
        } else {
          const step = Math.min(header.length - filled, chunk.length - at);
          header.set(chunk.subarray(at, at + step), filled);
          filled += step;
          at += step;
          if (filled < header.length) break;
          const type = header.toString('latin1', 4);
          isDamaged = !/^[A-Za-z]{4}$/.test(type);
          isLast = type === 'IEND';
          skip = header.readUInt32BE(0) + 4;
          filled = 0;
        }
      }
      return chunk.subarray(isDamaged ? chunk.length : at);
    },
    isWhole: () => isLast && skip === 0 && !isDamaged,
  };
}

/**
 * JPEG (ITU-T T.81, B.1): segments of marker, length and data, some with coded data behind them, up to the marker EOI.
 * A thumbnail with an EOI of its own lies inside a segment. Bytes between segments are skipped, as decoders do.
 */
export function trackJpeg(): Tracker {
  let next: 'anything' | 'marker' | 'high length' | 'low length' | 'nothing' = 'anything';
  let skip = 2;
  let high = 0;
  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && next !== 'nothing') {
        if (skip > 0) {
          const step = Math.min(skip, chunk.length - at);
          skip -= step;
          at += step;
        } else if (next === 'anything') {
          const found = chunk.indexOf(0xff, at);
          at = found < 0 ? chunk.length : found + 1;
          if (found >= 0) next = 'marker';
        } else {
          const byte = chunk[at] ?? 0;
          at += 1;
          if (next === 'marker') next = afterMarker(byte);
          else if (next === 'high length') [high, next] = [byte, 'low length'];
          else [skip, next] = [Math.max(high * 256 + byte - 2, 0), 'anything'];
        }
      }
      return chunk.subarray(at);
    },
    isWhole: () => next === 'nothing',
  };
}

function afterMarker(byte: number): 'anything' | 'marker' | 'high length' | 'nothing' {
  if (byte === 0xff) return 'marker';
  if (byte === 0xd9) return 'nothing';
  // Stuffing in coded data, restarts and the like have no length.
  return byte < 0xc0 || (byte >= 0xd0 && byte <= 0xd8) ? 'anything' : 'high length';
}

/**
 * TIFF 6.0 and BigTIFF: the header names the place of the first directory, which may be anywhere. It has to lie inside
 * the file with all its entries; where the data lie can't be told without reading back and forth.
 */
export function trackTiff(): Tracker {
  const header = firstBytes(16);
  const count = Buffer.alloc(8);
  let directory: ReturnType<typeof tiffDirectory>;
  let position = 0;
  return {
    push(chunk) {
      header.push(chunk);
      // Known at the latest when the header ends, and no directory lies before that.
      directory ??= tiffDirectory(header.bytes());
      if (directory) {
        const { at, countLength } = directory;
        const part = chunk.subarray(Math.max(at - position, 0), Math.max(at + countLength - position, 0));
        if (part.length > 0) count.set(part, Math.max(position - at, 0));
      }
      position += chunk.length;
      return new Uint8Array();
    },
    isWhole(size) {
      if (!directory) return false;
      const { at, countLength, entryLength, littleEndian } = directory;
      const entries = numberIn(count.subarray(0, countLength), littleEndian);
      return entries > 0 && at + countLength + entries * entryLength <= size;
    },
  };
}

/** Where its number of entries is, and how many bytes that and an entry take; undefined until the header is complete. */
function tiffDirectory(header: Buffer) {
  const littleEndian = header[0] === 0x49;
  const isBig = header.subarray(2, 4).includes(0x2b);
  const [from, to] = isBig ? [8, 16] : [4, 8];
  if (header.length < to) return undefined;
  const at = numberIn(header.subarray(from, to), littleEndian);
  if (at < to) return undefined;
  return { at, littleEndian, ...(isBig ? { countLength: 8, entryLength: 20 } : { countLength: 2, entryLength: 12 }) };
}

/** An unsigned number of any length; above 2^53 it is not exact, which is beyond any file here. */
function numberIn(bytes: Uint8Array, littleEndian: boolean): number {
  const highestFirst = littleEndian ? bytes.toReversed() : bytes;
  return highestFirst.reduce((number, byte) => number * 256 + byte, 0);
}

/** Keeps the first bytes of what passes. */
export function firstBytes(most: number) {
  const kept = Buffer.alloc(most);
  let length = 0;
  const bytes = () => kept.subarray(0, length);
  return {
    push(chunk: Uint8Array): void {
      const part = chunk.subarray(0, most - length);
      kept.set(part, length);
      length += part.length;
    },
    bytes,
    /** One character a byte. */
    text: () => bytes().toString('latin1'),
  };
}

/** Keeps the last bytes of what passes, as a copy: a view of a small chunk would keep all that it was cut from. */
export function lastBytes(most: number) {
  const kept = Buffer.alloc(most);
  let length = 0;
  return {
    push(chunk: Uint8Array): void {
      const part = chunk.subarray(Math.max(chunk.length - most, 0));
      kept.copyWithin(0, part.length);
      kept.set(part, most - part.length);
      length = Math.min(length + part.length, most);
    },
    bytes: () => kept.subarray(most - length),
  };
}
