import fc from 'fast-check';
import { completeDocument } from '../../../src/domain/documents/content.js';
import type { DocumentMediaType } from '../../../src/domain/documents/fileRules.js';
import { refusalOf } from '../../support/downloads.js';
import { sampleFiles } from '../../support/fileHost.js';
import { bodyOf } from '../../support/objectStores.js';

type Kind = keyof typeof sampleFiles;

const types: Readonly<Record<Kind, DocumentMediaType>> = {
  pdf: 'application/pdf',
  jpeg: 'image/jpeg',
  png: 'image/png',
  tiff: 'image/tiff',
  heic: 'image/heic',
};
const kinds = ['pdf', 'jpeg', 'png', 'tiff', 'heic'] as const;

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const join = (...parts: (Uint8Array | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? latin1(part) : part)));

async function read(kind: Kind, ...chunks: Uint8Array[]): Promise<Buffer> {
  const passed: Uint8Array[] = [];
  for await (const chunk of completeDocument(types[kind], bodyOf(...chunks))) passed.push(chunk);
  return Buffer.concat(passed);
}

async function expectAccepted(kind: Kind, content: Uint8Array): Promise<void> {
  expect((await read(kind, content)).equals(content)).toBe(true);
}

async function expectRefused(kind: Kind, content: Uint8Array): Promise<void> {
  const { code, message } = await refusalOf(read(kind, content));
  expect([code, message]).toEqual([
    'document_type_not_allowed',
    'The file is truncated or damaged: its end is missing.',
  ]);
}

/** An empty ZIP archive with a comment. */
const zip = (comment = '') => {
  const record = Buffer.alloc(22);
  record.write('PK\x05\x06', 'latin1');
  record.writeUInt16LE(comment.length, 20);
  return join('PK\x03\x04', Buffer.alloc(26), record, comment);
};
const pngChunk = (type: string, data: Uint8Array | string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return join(length, type, data, Buffer.alloc(4));
};
const inPng = (chunk: Uint8Array) => join(sampleFiles.png.subarray(0, 33), chunk, sampleFiles.png.subarray(33));
const jpegSegment = (marker: number, data: Uint8Array | string) => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return join(head, data);
};
const inJpeg = (...segments: Uint8Array[]) =>
  join(sampleFiles.jpeg.subarray(0, 2), ...segments, sampleFiles.jpeg.subarray(2));
const film = join('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', Buffer.alloc(3000, 0xa5));
const samsung = join(
  '\0\0\x01\n\x0e\0\0\0Image_UTC_Data1700000000000',
  'SEFHk\0\0\0\x01\0\0\0',
  Buffer.alloc(12),
  '\x18\0\0\0SEFT',
);
const pdfUpdate =
  '\n4 0 obj<</Type/Annot>>endobj\nxref\n0 1\n0000000000 65535 f \n' +
  'trailer<</Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF';

describe('a complete file', () => {
  it.each(kinds)('passes unchanged: %s', (kind) => expectAccepted(kind, sampleFiles[kind]));

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without a final line end', sampleFiles.pdf.subarray(0, -1)],
    ['pdf', 'with line ends behind it', join(sampleFiles.pdf, '\r\n\r\n')],
    ['pdf', 'padded with NUL', join(sampleFiles.pdf, Buffer.alloc(16_384))],
    ['pdf', 'padded with Ctrl-Z', join(sampleFiles.pdf, Buffer.alloc(127, 0x1a))],
    ['pdf', 'with incremental updates', join(sampleFiles.pdf, pdfUpdate, pdfUpdate)],
    [
      'pdf',
      'that is linearised',
      join('%PDF-1.5\n%\xe2\xe3\xcf\xd3\n8 0 obj<</Linearized 1>>endobj\nstartxref\n0\n%%EOF\n', sampleFiles.pdf),
    ],
    ['pdf', 'with a MIME boundary behind it', join(sampleFiles.pdf, '\r\n--=_boundary--\r\n')],
    ['pdf', 'with a comment behind it', join(sampleFiles.pdf, '% signed\n')],
    [
      'pdf',
      'with a form, whose scripts are XML',
      join(
        sampleFiles.pdf.subarray(0, 9),
        '5 0 obj<<>>stream\n<xdp><script>x</script></xdp>\nendstream endobj\n',
        sampleFiles.pdf.subarray(9),
      ),
    ],
    [
      'pdf',
      'with an archive as attachment',
      join(sampleFiles.pdf.subarray(0, -6), '5 0 obj<<>>stream\n', zip(), '\nendstream endobj\n%%EOF\n'),
    ],
    [
      'pdf',
      'with a picture that looks like a page',
      join(sampleFiles.pdf.subarray(0, -6), Buffer.alloc(2000), '<html>', '\n%%EOF\n'),
    ],
    ['jpeg', 'with white space behind it', join(sampleFiles.jpeg, '\r\n')],
    ['jpeg', 'padded with NUL', join(sampleFiles.jpeg, Buffer.alloc(5000))],
    [
      'jpeg',
      'with further pictures (MPF)',
      join(sampleFiles.jpeg, Buffer.alloc(100), sampleFiles.jpeg, sampleFiles.jpeg),
    ],
    ['jpeg', 'with a film (motion photo)', join(sampleFiles.jpeg, film)],
    ['jpeg', 'with a camera’s record', join(sampleFiles.jpeg, samsung)],
    [
      'jpeg',
      'with a thumbnail that has its own end marker',
      inJpeg(jpegSegment(0xe1, join('Exif\0\0', sampleFiles.jpeg))),
    ],
    [
      'jpeg',
      'with properties in XML',
      inJpeg(jpegSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0<?xpacket?><x:xmpmeta/>')),
    ],
    [
      'jpeg',
      'with fill bytes and stuffing',
      inJpeg(Buffer.from('ffffff', 'hex'), jpegSegment(0xfe, 'a'), Buffer.from('ff00', 'hex')),
    ],
    ['png', 'with white space behind it', join(sampleFiles.png, '\n')],
    ['png', 'padded with NUL', join(sampleFiles.png, Buffer.alloc(5000))],
    ['png', 'with private chunks', inPng(join(pngChunk('teSt', Buffer.alloc(200_000)), pngChunk('tEXt', '')))],
    ['png', 'with IEND in its data', inPng(pngChunk('teSt', sampleFiles.png))],
    ['heic', 'padded with NUL', join(sampleFiles.heic, Buffer.alloc(5000))],
    ['heic', 'with a private box behind the data', join(sampleFiles.heic, '\0\0\0\x0csefd', Buffer.alloc(4))],
  ])('passes unchanged: %s %s', (kind, _what, content) => expectAccepted(kind, content));

  it.each([
    ['little-endian', 'II*\0\x08\0\0\0'],
    ['big-endian', 'MM\0*\0\0\0\x08'],
    ['little-endian BigTIFF', 'II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0'],
    ['big-endian BigTIFF', 'MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10'],
  ])('accepts a %s only if its directory starts inside the file', async (_variant, header) => {
    await expectAccepted('tiff', join(header, '\x01'));
    await expectRefused('tiff', latin1(header));
  });
});

describe('a truncated file', () => {
  it.each(['jpeg', 'png', 'tiff', 'heic'] as const)('is refused for every length: %s', async (kind) => {
    const content = sampleFiles[kind];
    const step = Math.ceil(content.length / 150);
    // A TIFF ends with its directory; a HEIC may end after each box.
    const last = kind === 'tiff' ? 5009 : content.length;
    for (let length = 1; length < last; length += step) await expectRefused(kind, content.subarray(0, length));
    await expectRefused(kind, content.subarray(0, last - 1));
  });

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without %%EOF', sampleFiles.pdf.subarray(0, -8)],
    [
      'pdf',
      'cut in the middle of an update',
      join(sampleFiles.pdf, '\n4 0 obj<</Length 9000>>stream\n', Buffer.alloc(5000, 'x')),
    ],
    ['pdf', 'with %%EOF far from its end', join(sampleFiles.pdf, Buffer.alloc(1020, 'x'))],
    ['pdf', 'without %%EOF, padded with NUL', join(sampleFiles.pdf, Buffer.alloc(70_000))],
    [
      'jpeg',
      'that is cut behind a complete thumbnail',
      inJpeg(jpegSegment(0xe1, join('Exif\0\0', sampleFiles.jpeg))).subarray(0, -2),
    ],
    ['png', 'with garbage between its chunks', join(sampleFiles.png.subarray(0, 33), 'garbage!', sampleFiles.png)],
    [
      'png',
      'with a chunk that is longer than the file',
      join(sampleFiles.png.subarray(0, 33), '\x7f\xff\xff\xffteSt', sampleFiles.png),
    ],
    ['heic', 'with a page behind it', join(sampleFiles.heic, '<html><script>alert(1)</script></html>')],
    ['tiff', 'whose directory lies outside', latin1('II*\0\xff\xff\xff\x7f\x01\0')],
    [
      'tiff',
      'whose directory offset exceeds every file size',
      join('II+\0\x08\0\0\0', Buffer.alloc(8, 0xff), Buffer.alloc(99)),
    ],
  ])('is refused: %s %s', (kind, _what, content) => expectRefused(kind, content));
});

describe('a stream of chunks', () => {
  it.each(kinds)('is accepted byte by byte: %s', async (kind) => {
    const content = sampleFiles[kind];
    expect((await read(kind, ...Array.from(content, (byte) => Buffer.of(byte)))).equals(content)).toBe(true);
  });

  it('gets the same result for any chunk sizes, including empty chunks', async () => {
    const files: [Kind, Buffer][] = [
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind]]),
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind].subarray(0, -7)]),
      ['jpeg', join(sampleFiles.jpeg, film)],
      ['pdf', join(sampleFiles.pdf, Buffer.alloc(1020, 'x'))],
      ['tiff', latin1('II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0'.padEnd(44))],
    ];
    const outcome = (kind: Kind, chunks: Uint8Array[]) =>
      read(kind, ...chunks).then((all) => all.toString('latin1'), String);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.oneof(fc.array(fc.nat(20), { maxLength: 60 }), fc.array(fc.nat(6000))),
        async ([kind, content], cuts) => {
          const chunks: Uint8Array[] = [];
          let rest = content;
          for (const cut of cuts) {
            chunks.push(rest.subarray(0, cut));
            rest = rest.subarray(cut);
          }
          expect(await outcome(kind, [...chunks, rest])).toBe(await outcome(kind, [content]));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('passes each chunk on before the next one arrives', async () => {
    async function* unfinished() {
      yield sampleFiles.pdf;
      throw new Error('asked for more');
    }
    const first = await completeDocument('application/pdf', unfinished()).next();
    expect(first.value).toBe(sampleFiles.pdf);
  });
});
