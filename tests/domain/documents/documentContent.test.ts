import fc from 'fast-check';
import { wholeDocument } from '../../../src/domain/documents/content.js';
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
  for await (const chunk of wholeDocument(types[kind], bodyOf(...chunks))) passed.push(chunk);
  return Buffer.concat(passed);
}

async function expectAccepted(kind: Kind, content: Uint8Array): Promise<void> {
  expect((await read(kind, content)).equals(content)).toBe(true);
}

const cutOff = 'The file is cut off or damaged: its end is missing.';
const mixed = 'The file holds something else besides the document.';

/** Refused, for one of the two reasons that a caller is told. */
async function expectRefused(kind: Kind, content: Uint8Array, detail: string): Promise<void> {
  const { code, message } = await refusalOf(read(kind, content));
  expect([code, message]).toEqual(['document_type_not_allowed', detail]);
}

/** A ZIP archive of nothing, with a comment. */
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

describe('a whole document', () => {
  it.each(kinds)('of type %s passes unchanged', (kind) => expectAccepted(kind, sampleFiles[kind]));

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without a final line end', sampleFiles.pdf.subarray(0, -1)],
    ['pdf', 'with line ends behind it', join(sampleFiles.pdf, '\r\n\r\n')],
    ['pdf', 'filled up with NUL', join(sampleFiles.pdf, Buffer.alloc(16_384))],
    ['pdf', 'filled up with Ctrl-Z', join(sampleFiles.pdf, Buffer.alloc(127, 0x1a))],
    ['pdf', 'with incremental updates', join(sampleFiles.pdf, pdfUpdate, pdfUpdate)],
    [
      'pdf',
      'that is linearised',
      join('%PDF-1.5\n%\xe2\xe3\xcf\xd3\n8 0 obj<</Linearized 1>>endobj\nstartxref\n0\n%%EOF\n', sampleFiles.pdf),
    ],
    ['pdf', 'that a mail system left its mark on', join(sampleFiles.pdf, '\r\n--=_boundary--\r\n')],
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
    ['jpeg', 'filled up with NUL', join(sampleFiles.jpeg, Buffer.alloc(5000))],
    [
      'jpeg',
      'with further pictures (MPF)',
      join(sampleFiles.jpeg, Buffer.alloc(100), sampleFiles.jpeg, sampleFiles.jpeg),
    ],
    ['jpeg', 'with a film (motion photo)', join(sampleFiles.jpeg, film)],
    ['jpeg', 'with a camera’s record', join(sampleFiles.jpeg, samsung)],
    [
      'jpeg',
      'with a thumbnail that has an end of its own',
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
    ['png', 'filled up with NUL', join(sampleFiles.png, Buffer.alloc(5000))],
    ['png', 'with chunks of its own', inPng(join(pngChunk('teSt', Buffer.alloc(200_000)), pngChunk('tEXt', '')))],
    ['png', 'with IEND in its data', inPng(pngChunk('teSt', sampleFiles.png))],
    ['heic', 'filled up with NUL', join(sampleFiles.heic, Buffer.alloc(5000))],
    ['heic', 'with a box of its own behind the data', join(sampleFiles.heic, '\0\0\0\x0csefd', Buffer.alloc(4))],
  ])('%s %s passes unchanged', (kind, _what, content) => expectAccepted(kind, content));

  it.each([
    ['with the directory in front', 'II*\0\x08\0\0\0', '\x01\0', 12],
    ['of the other byte order', 'MM\0*\0\0\0\x08', '\0\x01', 12],
    ['of more than 4 GiB, in principle', 'II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0', '\x01\0\0\0\0\0\0\0', 20],
    ['of the other byte order, too', 'MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10', '\0\0\0\0\0\0\0\x01', 20],
  ])('tiff %s passes when its directory is all there', async (_what, header, count, entryLength) => {
    await expectAccepted('tiff', join(header, count, Buffer.alloc(entryLength)));
    await expectRefused('tiff', join(header, count, Buffer.alloc(entryLength - 1)), cutOff);
    await expectRefused('tiff', join(header, count), cutOff);
    await expectRefused('tiff', join(header, Buffer.alloc(count.length), Buffer.alloc(entryLength)), cutOff);
  });
});

describe('a file that ends early', () => {
  it.each(['jpeg', 'png', 'tiff', 'heic'] as const)('is refused wherever it was cut: %s', async (kind) => {
    const content = sampleFiles[kind];
    const step = Math.ceil(content.length / 150);
    // The last four bytes of the TIFF only say that there is no further picture.
    const last = kind === 'tiff' ? content.length - 4 : content.length;
    for (let length = 1; length < last; length += step) await expectRefused(kind, content.subarray(0, length), cutOff);
    await expectRefused(kind, content.subarray(0, last - 1), cutOff);
  });

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'without %%EOF', sampleFiles.pdf.subarray(0, -8)],
    [
      'pdf',
      'cut in the middle of an update',
      join(sampleFiles.pdf, '\n4 0 obj<</Length 9000>>stream\n', Buffer.alloc(5000, 'x')),
    ],
    ['pdf', 'with %%EOF far from its end', join(sampleFiles.pdf, Buffer.alloc(1020, 'x'))],
    ['pdf', 'filled up without end', join(sampleFiles.pdf, Buffer.alloc(70_000))],
    [
      'jpeg',
      'of which only the thumbnail is whole',
      inJpeg(jpegSegment(0xe1, join('Exif\0\0', sampleFiles.jpeg))).subarray(0, -2),
    ],
    ['png', 'with garbage between its chunks', join(sampleFiles.png.subarray(0, 33), 'garbage!', sampleFiles.png)],
    [
      'png',
      'with garbage of no length between its chunks',
      join(sampleFiles.png.subarray(0, 33), '\0\0\0\0\0\0\0\0crc!', sampleFiles.png.subarray(33)),
    ],
    [
      'png',
      'with a chunk that is longer than the file',
      join(sampleFiles.png.subarray(0, 33), '\x7f\xff\xff\xffteSt', sampleFiles.png),
    ],
    ['heic', 'with a page behind it', join(sampleFiles.heic, '<html><script>alert(1)</script></html>')],
    ['heic', 'without data', sampleFiles.heic.subarray(0, 92)],
    ['tiff', 'whose directory lies outside', latin1('II*\0\xff\xff\xff\x7f\x01\0')],
    ['tiff', 'whose directory lies at the very end', latin1('II*\0\x0a\0\0\0\x01\0')],
    ['tiff', 'whose directory lies in its header', join('II*\0\x04\0\0\0', Buffer.alloc(2000))],
    ['tiff', 'of a size beyond every number', join('II+\0\x08\0\0\0', Buffer.alloc(8, 0xff), Buffer.alloc(99))],
  ])('or is damaged is refused: %s %s', (kind, _what, content) => expectRefused(kind, content, cutOff));
});

describe('a file of two types', () => {
  const page = '<html><script>alert(1)</script></html>';

  it.each<[Kind, string, Uint8Array]>([
    ['pdf', 'that starts as a page', join('%PDF-1.4\n<HTML><script>alert(1)</script>\n', sampleFiles.pdf)],
    ['pdf', 'with a page in its comments', join('%PDF-1.4\n%<!-- -->\n%<!DOCTYPE html>', sampleFiles.pdf)],
    ['pdf', 'without a version', join('%PDF-<svg onload=alert(1)>', sampleFiles.pdf)],
    ['pdf', 'with a page behind it', join(sampleFiles.pdf, page)],
    ['pdf', 'with a page behind blanks', join(sampleFiles.pdf, ' \n\0 ', page, '\n')],
    ['pdf', 'with an archive behind it', join(sampleFiles.pdf, zip())],
    ['pdf', 'with an archive whose comment ends the PDF', join(sampleFiles.pdf, zip('\n%%EOF\n'))],
    [
      'pdf',
      'with an archive inside, and the longest comment',
      join(sampleFiles.pdf, zip('x'.repeat(65_500) + '\n%%EOF\n'.padEnd(35))),
    ],
    ['pdf', 'with a program behind it', join(sampleFiles.pdf, '\x7fELF\x02\x01\x01')],
    ['jpeg', 'with a script behind it', join(sampleFiles.jpeg, '<script>alert(1)</script>')],
    ['jpeg', 'with a program’s text behind it', join(sampleFiles.jpeg, '*/=alert("x");/*')],
    [
      'jpeg',
      'with a script behind padding and a picture',
      join(sampleFiles.jpeg, Buffer.alloc(5000), sampleFiles.jpeg, film, page),
    ],
    ['jpeg', 'with PHP behind it', join(sampleFiles.jpeg, '\0\x01\x02<?php system($_GET[0]); ?>')],
    ['jpeg', 'with a shell script behind it', join(sampleFiles.jpeg, '#!/bin/sh\n\x01')],
    ['jpeg', 'with an archive behind it', join(sampleFiles.jpeg, zip())],
    ['jpeg', 'with an archive behind a film', join(sampleFiles.jpeg, film, zip('comment'))],
    ['jpeg', 'with a PDF behind it', join(sampleFiles.jpeg, sampleFiles.pdf)],
    ['jpeg', 'with a PDF in a comment', inJpeg(jpegSegment(0xfe, sampleFiles.pdf))],
    ['jpeg', 'with a page in a comment', inJpeg(jpegSegment(0xfe, page))],
    ['jpeg', 'with a program behind it', join(sampleFiles.jpeg, 'MZ\x90\0\x03')],
    ['png', 'with an archive behind it', join(sampleFiles.png, zip())],
    [
      'png',
      'with an archive that ends like a PNG',
      join(sampleFiles.png, zip(sampleFiles.png.subarray(-12).toString('latin1'))),
    ],
    ['png', 'with anything behind padding', join(sampleFiles.png, Buffer.alloc(5000), 'x')],
    ['png', 'with what was cut away from the picture', join(sampleFiles.png, sampleFiles.png.subarray(40))],
    ['png', 'with a page in a text', inPng(pngChunk('tEXt', `Comment\0${page}`))],
    ['png', 'with a PDF in a text', inPng(pngChunk('tEXt', join('Comment\0', sampleFiles.pdf)))],
    ['heic', 'with anything behind it', join(sampleFiles.heic, Buffer.alloc(20, 0xa5))],
    ['heic', 'with an archive behind it', join(sampleFiles.heic, zip())],
    ['heic', 'with a page in a box', join(sampleFiles.heic, '\0\0\0\x30free', page.padEnd(40))],
    ['tiff', 'with an archive behind it', join(sampleFiles.tiff, zip())],
    [
      'tiff',
      'with a page in front of its directory',
      join(sampleFiles.tiff.subarray(0, 8), page, sampleFiles.tiff.subarray(8 + page.length)),
    ],
    [
      'tiff',
      'with a PDF in front of its directory',
      join(sampleFiles.tiff.subarray(0, 8), sampleFiles.pdf, sampleFiles.tiff.subarray(8 + sampleFiles.pdf.length)),
    ],
  ])('is refused: %s %s', (kind, _what, content) => expectRefused(kind, content, mixed));
});

describe('how a file arrives', () => {
  it.each(kinds)('may be byte by byte: %s', async (kind) => {
    const content = sampleFiles[kind];
    expect((await read(kind, ...Array.from(content, (byte) => Buffer.of(byte)))).equals(content)).toBe(true);
  });

  it('changes nothing about the verdict: any chunks, empty ones too', async () => {
    const files: [Kind, Buffer][] = [
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind]]),
      ...kinds.map((kind): [Kind, Buffer] => [kind, sampleFiles[kind].subarray(0, -7)]),
      ['png', join(sampleFiles.png, '\0x')],
      ['jpeg', join(sampleFiles.jpeg, '\0<html>')],
      ['jpeg', join(sampleFiles.jpeg, film)],
      ['pdf', join(sampleFiles.pdf, zip('%%EOF'))],
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

  it('is not waited for: what has come passes on at once', async () => {
    async function* unfinished() {
      yield sampleFiles.pdf;
      throw new Error('asked for more');
    }
    const first = await wholeDocument('application/pdf', unfinished()).next();
    expect(first.value).toBe(sampleFiles.pdf);
  });
});
