import { hash } from 'node:crypto';
import type { Downloader } from '../../adapters/download/downloader.js';
import { Problem } from '../../problem.js';
import type { DocumentMediaType } from '../documents/fileRules.js';

/** The host of the documents in the contract's examples; RFC 2606 reserves the domain `.example`. */
export const SAMPLE_HOST = 'files.northwind.example';

/** A PDF with one empty page. */
const samplePdf = Buffer.from(
  [
    '%PDF-1.4',
    '1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
    '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj',
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>endobj',
    'trailer<</Root 1 0 R>>',
    '%%EOF',
  ].join('\n'),
);

/** A JPEG of one pixel. */
const sampleJpeg = Buffer.from(
  `ffd8ffe000104a46494600010101004800480000ffdb004300${'ff'.repeat(64)}ffc9000b080001000101011100ffcc000600101005` +
    'ffda0008010100003f00d2cf20ffd9',
  'hex',
);
const samplePng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const samples: ReadonlyMap<string, readonly [DocumentMediaType, Buffer]> = new Map([
  ['pdf', ['application/pdf', samplePdf]],
  ['jpg', ['image/jpeg', sampleJpeg]],
  ['jpeg', ['image/jpeg', sampleJpeg]],
  ['png', ['image/png', samplePng]],
]);

export const downloadSample: Downloader = async (url, _limits, use) => {
  const sample = samples.get(/\.([a-z]+)$/i.exec(new URL(url).pathname)?.[1]?.toLowerCase() ?? '');
  if (!sample) {
    const detail = `${SAMPLE_HOST} has files that end in .pdf, .jpg, .jpeg or .png. Correct the URL, then try again.`;
    throw new Problem('document_fetch_failed', detail);
  }
  const [type, content] = sample;
  const value = await use({ sniffedType: type, declaredType: type, body: once(content) });
  return { value, sizeBytes: content.length, checksum: hash('sha256', content, 'hex') };
};

/** Serves URLs of {@link isSampleUrl} from built-in samples, or fails with document_fetch_failed; fetches others. */
export function withSampleFiles(download: Downloader): Downloader {
  return (url, limits, use) => (isSampleUrl(url) ? downloadSample : download)(url, limits, use);
}

function isSampleUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, host, username, password } = new URL(text);
  return protocol === 'https:' && host === SAMPLE_HOST && username === '' && password === '';
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
