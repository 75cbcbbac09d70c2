import { existsSync } from 'node:fs';
import { FONT_SAMPLE, openPdfRenderer, type PdfDocument } from '../../../src/adapters/pdf/pdfRenderer.js';
import { isThere, packages } from '../../support/optional.js';

const debianFont = '/usr/share/fonts/truetype/wqy/wqy-microhei.ttc';

it('the PDF renderer rejects a document that it cannot render, and still renders the others', async () => {
  const render = openPdfRenderer();
  const page: PdfDocument = { ...FONT_SAMPLE, parts: [{ kind: 'text', text: 'María Łuczak' }] };
  const damaged = { ...page, parts: null } as unknown as PdfDocument;
  const [first, second, third] = await Promise.allSettled([page, damaged, page].map(render));
  expect(second).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('no PDF was rendered') },
  });
  expect(first).toMatchObject({ status: 'fulfilled', value: expect.any(Uint8Array) });
  // The rejected page leaves no trace in the next one.
  expect(third).toEqual(first);
});

const withFont = isThere(existsSync(debianFont), 'Chinese names', packages('fonts-wqy-microhei')) ? it : it.skip;
withFont(
  'the fallback font shows characters that DejaVu Sans lacks, and a font that cannot be read is an error',
  async () => {
    const fontsOf = async (fallbackFont: string | null): Promise<string[]> => {
      const pdf = Buffer.from(await openPdfRenderer(fallbackFont)(FONT_SAMPLE)).toString('latin1');
      return [...pdf.matchAll(/\/BaseFont \/\w+\+([\w-]+)/g)].map(([, name = '']) => name);
    };
    expect(await fontsOf(`${debianFont}#WenQuanYiMicroHei`)).toContain('WenQuanYiMicroHei');
    expect(await fontsOf(null)).not.toContain('WenQuanYiMicroHei');
    for (const wrong of ['/nowhere.ttf', `${debianFont}#Nobody`]) {
      await expect(fontsOf(wrong)).rejects.toThrow('no PDF was rendered');
    }
  },
);
