import fc from 'fast-check';
import { completeDocument } from '../../src/domain/documents/content.js';
import type { DocumentMediaType } from '../../src/domain/documents/fileRules.js';
import { refusalOf } from '../support/downloads.js';
import { sampleFiles } from '../support/fileHost.js';
import { bodyOf } from '../support/objectStores.js';

type Kind = keyof typeof sampleFiles;

const { pdf, jpeg, png, heic } = sampleFiles;
const kinds = ['pdf', 'jpeg', 'png', 'tiff', 'heic'] as const;
const typeOf = (kind: Kind): DocumentMediaType => (kind === 'pdf' ? 'application/pdf' : `image/${kind}`);

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const join = (...parts: (Uint8Array | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? latin1(part) : part)));

async function read(kind: Kind, ...chunks: Uint8Array[]): Promise<Buffer> {
  const passed: Uint8Array[] = [];
  for await (const chunk of completeDocument(typeOf(kind), bodyOf(...chunks))) passed.push(chunk);
  return Buffer.concat(passed);
}

async function expectAccepted(kind: Kind, content: Uint8Array): Promise<void> {
  expect((await read(kind, content)).equals(content)).toBe(true);
}

async function expectRefused(kind: Kind, content: Uint8Array): Promise<void> {
  const { code, message } = await refusalOf(read(kind, content));
  const missingEnd = 'The file is truncated or damaged: its end is missing. Send the URL of a complete file.';
  expect([code, message]).toEqual(['document_type_not_allowed', missingEnd]);
}

/** An empty ZIP archive. */
const zip = join('PK\x03\x04', Buffer.alloc(26), 'PK\x05\x06', Buffer.alloc(18));
const pngChunk = (type: string, data: Uint8Array | string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return join(length, type, data, Buffer.alloc(4));
};
const inPng = (chunk: Uint8Array) => join(png.subarray(0, 33), chunk, png.subarray(33));
const jpegSegment = (marker: number, data: Uint8Array | string) => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return join(head, data);
};
const inJpeg = (...segments: Uint8Array[]) => join(jpeg.subarray(0, 2), ...segments, jpeg.subarray(2));
const film = join('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', Buffer.alloc(3000, 0xa5));
const samsungStart = '\0\0\x01\n\x0e\0\0\0Image_UTC_Data1700000000000SEFHk\0\0\0\x01\0\0\0';
const samsung = join(samsungStart, Buffer.alloc(12), '\x18\0\0\0SEFT');
const pdfUpdate =
  '\n4 0 obj<</Type/Annot>>endobj\nxref\n0 1\n0000000000 65535 f \n' +
  'trailer<</Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF';

const withThumbnail = inJpeg(jpegSegment(0xe1, join('Exif\0\0', jpeg)));
const inPdf = (...parts: (Uint8Array | string)[]) => join(pdf.subarray(0, -6), ...parts, '\n%%EOF\n');
const linearised = '%PDF-1.5\n%\xe2\xe3\xcf\xd3\n8 0 obj<</Linearized 1>>endobj\nstartxref\n0\n%%EOF\n';
const xmp = 'http://ns.adobe.com/xap/1.0/\0<?xpacket?><x:xmpmeta/>';
const xfa = '5 0 obj<<>>stream\n<xdp><script>x</script></xdp>\nendstream endobj\n';

describe('a complete file', () => {
  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without a final line end', pdf.subarray(0, -1)],
    ['pdf', 'with line ends behind it', join(pdf, '\r\n\r\n')],
    ['pdf', 'padded with NUL', join(pdf, Buffer.alloc(16_384))],
    ['pdf', 'padded with Ctrl-Z', join(pdf, Buffer.alloc(127, 0x1a))],
    ['pdf', 'with incremental updates', join(pdf, pdfUpdate, pdfUpdate)],
    ['pdf', 'that is linearised', join(linearised, pdf)],
    ['pdf', 'with a MIME boundary behind it', join(pdf, '\r\n--=_boundary--\r\n')],
    ['pdf', 'with a comment behind it', join(pdf, '% signed\n')],
    ['pdf', 'with a form, whose scripts are XML', join(pdf.subarray(0, 9), xfa, pdf.subarray(9))],
    ['pdf', 'with an archive as attachment', inPdf('5 0 obj<<>>stream\n', zip, '\nendstream endobj')],
    ['pdf', 'with a picture that looks like a page', inPdf(Buffer.alloc(2000), '<html>')],
    ['jpeg', 'with white space behind it', join(jpeg, '\r\n')],
    ['jpeg', 'padded with NUL', join(jpeg, Buffer.alloc(5000))],
    ['jpeg', 'with further pictures (MPF)', join(jpeg, Buffer.alloc(100), jpeg, jpeg)],
    ['jpeg', 'with a film (motion photo)', join(jpeg, film)],
    ['jpeg', 'with a camera’s record', join(jpeg, samsung)],
    ['jpeg', 'with a thumbnail that has its own end marker', withThumbnail],
    ['jpeg', 'with properties in XML', inJpeg(jpegSegment(0xe1, xmp))],
    ['jpeg', 'with fill bytes and stuffing', inJpeg(latin1('\xff\xff\xff'), jpegSegment(0xfe, 'a'), latin1('\xff\0'))],
    ['png', 'with white space behind it', join(png, '\n')],
    ['png', 'padded with NUL', join(png, Buffer.alloc(5000))],
    ['png', 'with private chunks', inPng(join(pngChunk('teSt', Buffer.alloc(200_000)), pngChunk('tEXt', '')))],
    ['png', 'with IEND in its data', inPng(pngChunk('teSt', png))],
    ['heic', 'padded with NUL', join(heic, Buffer.alloc(5000))],
    ['heic', 'with a private box behind the data', join(heic, '\0\0\0\x0csefd', Buffer.alloc(4))],
  ])('passes unchanged: %s %s', (kind, _what, content) => expectAccepted(kind, content));

  it.each([
    ['little-endian', 'II*\0\x08\0\0\0'],
    ['big-endian', 'MM\0*\0\0\0\x08'],
    ['little-endian BigTIFF', 'II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0'],
    ['big-endian BigTIFF', 'MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10'],
  ])('is refused as %s TIFF if its directory starts beyond the end of the file', async (_variant, header) => {
    await expectAccepted('tiff', join(header, '\x01'));
    await expectRefused('tiff', latin1(header));
  });
});

describe('a truncated file', () => {
  it.each(['jpeg', 'png', 'tiff', 'heic'] as const)('is refused at every length, as %s', async (kind) => {
    const content = sampleFiles[kind];
    const step = Math.ceil(content.length / 150);
    // A TIFF ends with its directory; a HEIC may end after each box.
    const last = kind === 'tiff' ? 5009 : content.length;
    for (let length = 1; length < last; length += step) await expectRefused(kind, content.subarray(0, length));
    await expectRefused(kind, content.subarray(0, last - 1));
  });

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without %%EOF', pdf.subarray(0, -8)],
    ['pdf', 'cut in the middle of an update', join(pdf, '\n4 0 obj<</Length 9000>>stream\n', Buffer.alloc(5000, 'x'))],
    ['pdf', 'with %%EOF far from its end', join(pdf, Buffer.alloc(1020, 'x'))],
    ['pdf', 'without %%EOF, padded with NUL', join(pdf, Buffer.alloc(70_000))],
    ['jpeg', 'cut after a complete thumbnail', withThumbnail.subarray(0, -2)],
    ['png', 'with garbage between its chunks', join(png.subarray(0, 33), 'garbage!', png)],
    ['png', 'with a chunk that is longer than the file', join(png.subarray(0, 33), '\x7f\xff\xff\xffteSt', png)],
    ['heic', 'with a page behind it', join(heic, '<html><script>alert(1)</script></html>')],
    ['tiff', 'whose directory lies outside', latin1('II*\0\xff\xff\xff\x7f\x01\0')],
    ['tiff', 'with a huge directory offset', join('II+\0\x08\0\0\0', Buffer.alloc(8, 0xff), Buffer.alloc(99))],
  ])('is refused: %s %s', (kind, _what, content) => expectRefused(kind, content));
});

describe('a stream of chunks', () => {
  it.each(kinds)('is accepted when it arrives byte by byte, as %s', async (kind) => {
    const content = sampleFiles[kind];
    expect((await read(kind, ...Array.from(content, (byte) => Buffer.of(byte)))).equals(content)).toBe(true);
  });

  it('gets the same result for any chunk sizes, including empty chunks', async () => {
    const files: [Kind, Buffer][] = [
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind]]),
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind].subarray(0, -7)]),
      ['jpeg', join(jpeg, film)],
      ['pdf', join(pdf, Buffer.alloc(1020, 'x'))],
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
      yield pdf;
      throw new Error('asked for more');
    }
    const first = await completeDocument('application/pdf', unfinished()).next();
    expect(first.value).toBe(pdf);
  });
});
