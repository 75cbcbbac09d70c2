import fc from 'fast-check';
import { sniffType } from '../../../src/adapters/download/sniffType.js';
import { blobPath, describeFile, documentRules, safeFileName } from '../../../src/domain/documents/fileRules.js';
import type { DocumentType, FileEvidence, UploadRequest } from '../../../src/domain/documents/fileRules.js';
import { Problem } from '../../../src/problem.js';
import { sampleFiles } from '../../support/fileHost.js';
import { words } from '../../support/words.js';

const documentId = '0193a8f0-0000-7000-8000-000000000001';
const generated = `lab-results-${documentId}.pdf`;
const request: UploadRequest = {
  documentType: 'lab-results',
  documentId,
  url: 'https://files.example.com/results/blood.pdf?sig=abc',
  fileName: undefined,
};
const pdf: FileEvidence = { sniffedType: 'application/pdf', declaredType: 'application/pdf' };

const describeAs = (changes: Partial<UploadRequest>, evidence: Partial<FileEvidence> = {}) =>
  describeFile({ ...request, ...changes }, { ...pdf, ...evidence });
const codeOf = (action: () => unknown): unknown => {
  try {
    action();
    return 'accepted';
  } catch (error) {
    return error instanceof Problem ? error.code : error;
  }
};

describe('the type of a file', () => {
  it.each([
    ['application/pdf', sampleFiles.pdf],
    ['image/png', sampleFiles.png],
    ['image/jpeg', sampleFiles.jpeg],
    ['image/tiff', sampleFiles.tiff],
    ['image/tiff', Buffer.from('MM\0*\0\0\0\x08', 'latin1')],
    ['image/tiff', Buffer.from('II+\0\x08\0\0\0', 'latin1')],
  ])('is detected from its first bytes: %s', async (type, content) => {
    await expect(sniffType(content)).resolves.toBe(type);
  });

  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['text', Buffer.from('Patient: Jane')],
    ['a page', Buffer.from('<!DOCTYPE html><script>alert(1)</script>')],
    ['a drawing', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
    ['a drawing with a prolog', Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['a script', Buffer.from('#!/bin/sh\nrm -rf /\n')],
    ['a program', Buffer.from('MZ\x90\0\x03', 'latin1')],
    ['an archive', Buffer.from('504b030414000000', 'hex')],
    ['a gzipped PDF', Buffer.from('1f8b0800000000000003', 'hex')],
    ['GIF and PDF in one', Buffer.from('GIF89a;%PDF-1.4\n')],
    ['a PDF behind junk', Buffer.concat([Buffer.from('junk\n'), sampleFiles.pdf])],
    ['a PDF behind a byte order mark', Buffer.concat([Buffer.from('\ufeff'), sampleFiles.pdf])],
    ['a PDF behind an ID3 tag', Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x05xxxxx', 'latin1'), sampleFiles.pdf])],
    ['a PNG behind a byte order mark', Buffer.concat([Buffer.from('\ufeff'), sampleFiles.png])],
    ['the start of a signature', Buffer.from('%PD')],
    ['a camera’s raw picture', Buffer.from('II*\0\x10\0\0\0CR\x02\0\0\0\0\0', 'latin1')],
  ])('is refused for a document: %s', async (_name, content) => {
    const type = await sniffType(content);
    const outcome = codeOf(() => describeAs({}, { sniffedType: type, declaredType: undefined }));
    expect(outcome).toBe('document_type_not_allowed');
  });
});

describe('a fetched file', () => {
  it.each(
    Object.entries({
      'intake-forms': ['image/tiff'],
      'lab-results': ['image/tiff'],
      'gfe-forms': ['image/tiff'],
      'id-card': ['application/pdf', 'image/png', 'image/jpeg', 'image/heic'],
      photos: ['image/heic', 'image/png'],
      'consent-forms': ['image/tiff', 'application/pdf'],
    }),
  )('is accepted for documentType %s as %s', (documentType, types) => {
    for (const type of types) {
      const changes = { documentType: documentType as DocumentType, url: 'https://files.example.com/' };
      expect(describeAs(changes, { sniffedType: type, declaredType: type }).contentType).toBe(type);
    }
  });

  it('is accepted as a HEIC for photos but not for forms, also when it is declared as image/heif', async () => {
    const heic = { sniffedType: await sniffType(sampleFiles.heic), declaredType: 'image/heif' };
    expect(heic.sniffedType).toBe('image/heic');
    const photo = describeAs({ documentType: 'photos', fileName: 'IMG_1.HEIC' }, heic);
    expect(photo).toMatchObject({ contentType: 'image/heic', fileName: 'IMG_1.HEIC' });
    for (const documentType of ['intake-forms', 'consent-forms'] as const) {
      expect(codeOf(() => describeAs({ documentType }, heic))).toBe('document_type_not_allowed');
    }
  });

  it.each(['image/tiff', 'application/pdf'])('is refused as a TIFF for an id-card declared as %s', (type) => {
    const tiff = { sniffedType: 'image/tiff', declaredType: type };
    expect(codeOf(() => describeAs({ documentType: 'id-card' }, tiff))).toBe('document_type_not_allowed');
  });

  it('is limited to 20 MiB, an id-card to 10 MiB', () => {
    const limits = Object.entries(documentRules).map(([type, rule]) => [type, rule.maxBytes / 1024 / 1024]);
    const forms = { 'intake-forms': 20, 'lab-results': 20, 'gfe-forms': 20, 'consent-forms': 20 };
    expect(Object.fromEntries(limits)).toEqual({ ...forms, 'id-card': 10, photos: 20 });
  });

  it.each([
    undefined,
    '',
    'application/pdf; charset=binary',
    ...words(`application/octet-stream binary/octet-stream application/force-download garbage APPLICATION/PDF
      application/x-pdf`),
  ])('is accepted when the server declares %j for a PDF', (declaredType) => {
    expect(codeOf(() => describeAs({}, { declaredType }))).toBe('accepted');
  });

  it.each([
    'text/html; charset=utf-8',
    ...words('image/png text/plain application/json image/svg+xml application/zip'),
  ])('is refused as a mismatch when the server declares %s for a PDF', (declaredType) => {
    expect(codeOf(() => describeAs({}, { declaredType }))).toBe('document_type_mismatch');
  });

  it('is accepted with the declared type image/jpg', () => {
    const card = { contentType: 'image/jpeg', fileName: 'card.jpeg', originalFilename: 'card.jpeg' };
    const url = 'https://files.example.com/card.jpeg';
    expect(describeAs({ url }, { sniffedType: 'image/jpeg', declaredType: 'image/jpg' })).toEqual(card);
  });

  it.each(['scan.png', 'scan.PNG', 'scan.html', 'scan.pdf.exe', 'scan.svg', 'scan.docx'])(
    'is refused as a mismatch when fileName or URL calls a PDF %s',
    (name) => {
      expect(codeOf(() => describeAs({ fileName: name }))).toBe('document_type_mismatch');
      expect(codeOf(() => describeAs({ url: `https://files.example.com/${name}` }))).toBe('document_type_mismatch');
    },
  );

  it('is accepted if it fits the extension of fileName, even if it does not fit that of the URL', () => {
    const url = 'https://files.example.com/scan.png';
    expect(codeOf(() => describeAs({ fileName: 'blood.pdf', url }))).toBe('accepted');
  });
});

describe('the name of a stored file', () => {
  it.each([
    ['the caller’s', { fileName: 'Blood test.pdf' }, 'Blood test.pdf', 'blood.pdf'],
    ['the last segment of the URL’s path', {}, 'blood.pdf', 'blood.pdf'],
    [
      'the last segment, percent-decoded',
      { url: 'https://x.example/a/Bl%C3%BCte%20%231.pdf#top' },
      'Blüte #1.pdf',
      'Blüte #1.pdf',
    ],
    [
      'the last segment’s base name if it hides a path',
      { url: 'https://x.example/a%2F..%2Fetc%2Fscan.pdf' },
      'scan.pdf',
      'scan.pdf',
    ],
    [
      'the last segment unchanged if it can’t be decoded',
      { url: 'https://x.example/100%.pdf' },
      '100%.pdf',
      '100%.pdf',
    ],
    [
      'made of type and id if the URL’s path has no segment',
      { url: 'https://x.example/?file=a.pdf' },
      generated,
      generated,
    ],
    [
      'made of type and id if sanitizing empties it',
      { url: 'https://x.example/%00%2F..', fileName: ' .. / ' },
      generated,
      generated,
    ],
    ['the URL’s when sanitizing leaves the caller’s empty', { fileName: '../../..' }, 'blood.pdf', 'blood.pdf'],
    ['completed by an extension', { fileName: 'Blood test' }, 'Blood test.pdf', 'blood.pdf'],
    ['completed after an unknown extension', { url: 'https://x.example/a.php?id=7' }, 'a.php.pdf', 'a.php'],
    ['left alone when the extension fits', { fileName: 'BLOOD.PDF' }, 'BLOOD.PDF', 'blood.pdf'],
  ])('is %s', (_rule, changes, fileName, originalFilename) => {
    expect(describeAs(changes)).toEqual({ contentType: 'application/pdf', fileName, originalFilename });
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\jane\\card.png', 'card.png'],
    ['a/b\\c/', 'c'],
    ['  scan.pdf  ', 'scan.pdf'],
    ['.htaccess', 'htaccess'],
    ['scan.pdf.', 'scan.pdf'],
    ['a\u0000b\r\nc\u007f\u0085.pdf', 'abc.pdf'],
    ['a\u202efdp.exe', 'afdp.exe'],
    ['\u2066a\u2069\u200f.pdf', 'a.pdf'],
    ['\ufeffa.pdf', 'a.pdf'],
    ['a\u2028b.pdf', 'ab.pdf'],
    ['a\ud800b.pdf', 'ab.pdf'],
    ['e\u0301.pdf', 'é.pdf'],
    ['e\u202e\u0301.pdf', 'é.pdf'],
    ['血液検査.pdf', '血液検査.pdf'],
    ['👩‍⚕️.pdf', '👩‍⚕️.pdf'],
    ['نتيجة.pdf', 'نتيجة.pdf'],
    ['"quoted"; x=1.pdf', '"quoted"; x=1.pdf'],
    ['100%.pdf', '100%.pdf'],
    ['__proto__', '__proto__'],
  ])('is made from %j as %j', (text, name) => {
    expect(safeFileName(text)).toBe(name);
  });

  it.each(['..', '.', '', '/', '...'])('cannot be made from %j', (text) => {
    expect(safeFileName(text)).toBeUndefined();
  });

  it('is cut to 255 bytes between characters and keeps its extension', () => {
    expect(describeAs({ fileName: `${'a'.repeat(400)}.pdf` }).fileName).toBe(`${'a'.repeat(251)}.pdf`);
    expect(describeAs({ fileName: 'b'.repeat(400) }).fileName).toBe(`${'b'.repeat(251)}.pdf`);
    expect(describeAs({ fileName: `${'😀'.repeat(100)}.pdf` }).fileName).toBe(`${'😀'.repeat(62)}.pdf`);
    expect(safeFileName(`x.${'y'.repeat(400)}`)).toHaveLength(255);
  });

  it('is a safe path segment for any text', () => {
    const text = fc.oneof(...(['binary', 'grapheme'] as const).map((unit) => fc.string({ unit, maxLength: 400 })));
    fc.assert(
      fc.property(text, (start) => {
        // The suffix ".scan" prevents the extension of another type, which would be a mismatch.
        const { fileName } = describeAs({ url: 'https://x.example/', fileName: `${start}.scan` });
        expect(fileName).toMatch(/^[^./\\\p{Cc}\p{Cs}\p{Bidi_Control}][^/\\\p{Cc}\p{Cs}\p{Bidi_Control}]*\.pdf$/u);
        expect(Buffer.byteLength(fileName)).toBeLessThanOrEqual(255);
        expect(fileName.normalize('NFC')).toBe(fileName);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the key of a stored file', () => {
  it('consists of tenant, patient, documentType and document without the file name', () => {
    const document = { tenantId: 'glow', patientId: 'p', documentId: 'd', documentType: 'id-card' } as const;
    expect(blobPath(document)).toBe('glow/clients/p/id-card/d');
  });
});
