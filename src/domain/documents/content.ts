import { Problem } from '../../problem.js';
import { firstBytes, trackJpeg, trackPng, trackTiff, lastBytes, type Tracker } from './formatParsers.js';
import { trackHeic } from './trackHeic.js';
import type { DocumentMediaType } from './fileRules.js';

/** Programs that guess a type by content look no further than this. */
const guessedFrom = 1024;
/** Acrobat's tolerance: so far from the end of a PDF its last `%%EOF` may be. */
const pdfTolerance = 1024;
/** A ZIP archive's record at its end, with the longest comment. */
const zipEndLength = 22;
const longestZipEnd = zipEndLength + 0xffff;

/** What makes a browser or a web server see a page or a program in a text. */
const markup = /<(!doctype|html|head|body|script|iframe|svg|\?php)/i;
/** How a file of another type starts: archives, programs, scripts, documents. */
const foreignStarts = [
  'PK\x03\x04',
  'PK\x05\x06',
  'Rar!',
  '7z\xbc\xaf',
  '\x1f\x8b',
  'MZ',
  '\x7fELF',
  '#!',
  '%PDF-',
  'GIF8',
  '{\\rtf',
  '\xd0\xcf\x11\xe0',
];
/** What fills up the blocks of disks and old transfers: NUL, blanks, line ends, Ctrl-Z. */
const padding: ReadonlySet<number> = new Set(Buffer.from('\0\t\n\f\r \x1a', 'latin1'));

const cutOff = 'The file is cut off or damaged: its end is missing.';
const mixed = 'The file holds something else besides the document.';

/** What is known of a file when all of it has passed: its first `guessedFrom` bytes, its last `longestZipEnd` ones. */
interface Passed {
  readonly start: string;
  readonly end: Buffer;
  /** What lies behind the document's own end and the padding there, as far as that is known while it passes. */
  readonly behind: { readonly start: string; readonly isText: boolean };
  readonly isWhole: boolean;
}

/**
 * The same bytes, which end only if they are one whole document of the type and not a file of another type as well
 * (D-64). Holds some 70 KiB, whatever the size; looks at the frame of a file, never at its pages or pictures.
 * @throws Problem document_type_not_allowed, when everything has been read
 */
export async function* wholeDocument(
  type: DocumentMediaType,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const [start, end, behind] = [firstBytes(guessedFrom), lastBytes(longestZipEnd), firstBytes(guessedFrom)];
  const follower = followers[type]();
  let size = 0;
  let isText = true;
  for await (const chunk of body) {
    size += chunk.length;
    start.push(chunk);
    end.push(chunk);
    const rest = follower.push(chunk);
    behind.push(behind.bytes().length === 0 ? withoutPadding(rest) : rest);
    isText &&= !rest.some(isBinary);
    yield chunk;
  }
  const fault = faultOf(type, {
    start: start.text(),
    end: end.bytes(),
    behind: { start: behind.text(), isText },
    isWhole: follower.isWhole(size),
  });
  if (fault) throw new Problem('document_type_not_allowed', fault);
}

/** A PDF is judged by its end alone. */
const trackPdf = (): Tracker => ({ push: () => new Uint8Array(), isWhole: () => true });

const followers: Readonly<Record<DocumentMediaType, () => Tracker>> = {
  'application/pdf': trackPdf,
  'image/jpeg': trackJpeg,
  'image/png': trackPng,
  'image/tiff': trackTiff,
  'image/heic': trackHeic,
};

function faultOf(type: DocumentMediaType, file: Passed): string | undefined {
  if (!file.isWhole) return cutOff;
  if (endsAsZip(file.end)) return mixed;
  if (type === 'application/pdf') return pdfFault(file);
  if (markup.test(file.start) || file.start.includes('%PDF-')) return mixed;
  const { start, isText } = file.behind;
  if (start === '') return undefined;
  // Nothing writes anything behind a PNG, except tools that forgot to remove what was cut away; a HEIC has boxes for all.
  if (type === 'image/png' || type === 'image/heic') return mixed;
  // Cameras put more pictures, a film or a record of their own behind a JPEG: in binary, all of them.
  const last = file.end.subarray(-guessedFrom).toString('latin1');
  return isText || isForeign(start) || markup.test(last) ? mixed : undefined;
}

/** Incremental updates are fine, as is whatever little a mail system left behind the last `%%EOF`. */
function pdfFault({ start, end }: Passed): string | undefined {
  const [beforeObjects = ''] = start.split(/\d obj\b/, 1);
  if (!/^%PDF-\d\.\d/.test(start) || markup.test(beforeObjects)) return mixed;
  const content = end.subarray(0, end.findLastIndex((byte) => !padding.has(byte)) + 1);
  const mark = content.lastIndexOf('%%EOF');
  if (mark < 0 || content.length - mark > pdfTolerance) return cutOff;
  return isForeign(withoutPadding(content.subarray(mark + '%%EOF'.length)).toString('latin1')) ? mixed : undefined;
}

function isForeign(behind: string): boolean {
  return foreignStarts.some((start) => behind.startsWith(start)) || markup.test(behind);
}

function withoutPadding(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => !padding.has(byte));
  return Buffer.from(bytes.subarray(first < 0 ? bytes.length : first));
}

/** Whether the file can be opened as a ZIP archive, which is found by its end: a record whose comment is the rest. */
function endsAsZip(end: Buffer): boolean {
  const record = 'PK\x05\x06';
  for (let at = end.indexOf(record); at >= 0 && at + zipEndLength <= end.length; at = end.indexOf(record, at + 1)) {
    if (at + zipEndLength + end.readUInt16LE(at + zipEndLength - 2) === end.length) return true;
  }
  return false;
}

/** Control characters that no text has, and what is not ASCII. */
function isBinary(byte: number): boolean {
  return byte > 0x7e || (byte < 0x20 && !padding.has(byte));
}
