import { Problem } from '../../problem.js';
import type { DocumentMediaType } from './fileRules.js';

/** Checks chunk by chunk, with constant memory, whether a file is complete. */
interface Follower {
  push(chunk: Uint8Array): void;
  isComplete(): boolean;
}

/** Passes on a file's bytes, then checks that the file is complete. @throws Problem document_type_not_allowed */
export async function* completeDocument(
  type: DocumentMediaType,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const follower = followers[type]();
  for await (const chunk of body) {
    follower.push(chunk);
    yield chunk;
  }
  if (!follower.isComplete()) {
    throw new Problem(
      'document_type_not_allowed',
      'The file is truncated or damaged: its end is missing. Send the URL of a complete file.',
    );
  }
}

const followers: Readonly<Record<DocumentMediaType, () => Follower>> = {
  'application/pdf': followPdf,
  'image/jpeg': () => followBlocks(jpegBlock),
  'image/png': () => followBlocks(pngChunk, { headerLength: 8 }),
  'image/tiff': followTiff,
  'image/heic': () => followBlocks(heicBox, { hasNoLastBlock: true }),
};

/** Bytes with which disks and old transfer programs fill blocks: NUL, white space, Ctrl-Z. */
const padding: ReadonlySet<number> = new Set(Buffer.from('\0\t\n\f\r \x1a', 'latin1'));

/** Checks the end of a PDF: `%%EOF` must be in the last 1024 bytes before padding, as in Acrobat. */
function followPdf(): Follower {
  let tail = Buffer.alloc(0);
  return {
    push(chunk) {
      tail = Buffer.concat([tail, chunk]).subarray(-32_768);
    },
    isComplete() {
      const end = tail.findLastIndex((byte) => !padding.has(byte)) + 1;
      return tail.subarray(Math.max(end - 1024, 0), end).includes('%%EOF');
    },
  };
}

/** Checks a TIFF, which has no end marker: its directory, which scanners write last, must start inside the file. */
function followTiff(): Follower {
  let head = Buffer.alloc(0);
  let size = 0;
  return {
    push(chunk) {
      if (head.length < 16) head = Buffer.concat([head, chunk.subarray(0, 16)]);
      size += chunk.length;
    },
    isComplete() {
      const isBigTiff = head.subarray(2, 4).includes(0x2b);
      const offset = isBigTiff ? head.subarray(8, 16) : head.subarray(4, 8);
      const bigEndian = head[0] === 0x49 ? offset.toReversed() : offset;
      return Number(`0x${Buffer.from(bigEndian).toString('hex')}`) < size;
    },
  };
}

/** Reads the length of a block, never 0: Infinity for the last block, undefined if more bytes are needed. */
type BlockLength = (bytes: Buffer, at: number) => number | undefined;

/** Checks that a file of blocks ends with its last block; if the format marks none, at the exact end of a block. */
function followBlocks(lengthOf: BlockLength, { headerLength = 0, hasNoLastBlock = false } = {}): Follower {
  let pending = Buffer.alloc(0);
  let next = headerLength;
  return {
    push(chunk) {
      pending = Buffer.concat([pending, chunk]);
      for (let length: number | undefined = 0; length !== undefined; next += length ?? 0) {
        length = next < pending.length ? lengthOf(pending, next) : undefined;
      }
      const passed = Math.min(next, pending.length);
      pending = pending.subarray(passed);
      next -= passed;
    },
    isComplete: () => next === Infinity || (hasNoLastBlock && next === 0 && pending.length === 0),
  };
}

/** The length of a PNG chunk (W3C, 5.2): length, type, data, checksum. */
function pngChunk(bytes: Buffer, at: number): number | undefined {
  if (bytes.length < at + 12) return undefined;
  return bytes.toString('latin1', at + 4, at + 8) === 'IEND' ? Infinity : bytes.readUInt32BE(at) + 12;
}

/** The length of a JPEG block (ITU-T T.81, B.1): a segment, which may hold a thumbnail, or data up to a marker. */
function jpegBlock(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] !== 0xff) {
    const marker = bytes.indexOf(0xff, at);
    return (marker < 0 ? bytes.length : marker) - at;
  }
  const marker = bytes[at + 1];
  if (marker === undefined) return undefined;
  if (marker === 0xff) return 1;
  if (marker === 0xd9) return Infinity;
  // Stuffed bytes, restart markers and the start of the image have no length field.
  if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8)) return 2;
  return bytes.length < at + 4 ? undefined : bytes.readUInt16BE(at + 2) + 2;
}

/** The length of a HEIC box (ISO/IEC 14496-12, 4.2). Length 1 = a 64-bit length follows; 0 = the rest of the file. */
function heicBox(bytes: Buffer, at: number): number | undefined {
  if (bytes.length < at + 8) return undefined;
  const length = bytes.readUInt32BE(at);
  if (length === 0) return Infinity;
  if (length !== 1) return Math.max(length, 8);
  return bytes.length < at + 16 ? undefined : Math.max(Number(bytes.readBigUInt64BE(at + 8)), 16);
}
