import { openPdfRenderer, type PdfDocument } from '../../../src/adapters/pdf/pdfRenderer.js';

const page: PdfDocument = {
  title: 'Good Faith Estimate',
  createdAt: new Date('2026-11-20T16:00:00Z'),
  lines: [{ tag: 'P', size: 9, text: 'María Łuczak', isBold: false }],
};

it('the PDF renderer rejects a document that it cannot render, and still renders the others', async () => {
  const render = openPdfRenderer();
  const damaged = { ...page, lines: [{ ...page.lines[0], size: null }, null] } as unknown as PdfDocument;
  const [first, second, third] = await Promise.allSettled([page, damaged, page].map(render));
  expect(second).toMatchObject({ status: 'rejected', reason: { message: 'no PDF was rendered' } });
  expect(first).toMatchObject({ status: 'fulfilled', value: expect.any(Uint8Array) });
  // The rejected page leaves no trace in the next one.
  expect(third).toEqual(first);
});
