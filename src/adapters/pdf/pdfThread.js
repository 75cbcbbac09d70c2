import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import { constants, platform, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import PDFDocument from 'pdfkit';

// This file runs as the thread of `openPdfRenderer`. It is JavaScript because Node loads it without tsx.

const require = createRequire(import.meta.url);
// Embed a font: the standard PDF fonts only cover Western European names.
const fonts = {
  regular: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
};

/** File and, in a collection, name of the fallback font. */
const fallback = workerData.fallbackFont?.split('#') ?? null;

// Serve requests before rendering pages: on Linux, lower the priority of this thread; elsewhere it would affect the process.
try {
  if (platform() === 'linux') setPriority(constants.priority.PRIORITY_LOW);
} catch {
  // A seccomp profile may forbid this. Render at normal priority then.
}

const MARGIN = 54;
/** Points below a heading: with less space, it moves to the next page with the text that it introduces. */
const KEPT_TOGETHER = 90;
const GRAY = '#555555';
const LINE = '#bbbbbb';
/** Added at the end of the document if its fonts lack a character of its text, for example of Chinese. */
const NOTE = 'A box stands for a character that this document cannot show.';
/** `gap`: lines of space above. */
const styles = {
  title: { tag: 'H1', size: 22, font: fonts.bold, gap: 0 },
  heading: { tag: 'H2', size: 12, font: fonts.bold, gap: 1.4 },
  text: { tag: 'P', size: 10, font: fonts.regular, gap: 0.4 },
  warning: { tag: 'P', size: 11, font: fonts.bold, gap: 0.8 },
};

parentPort.on('message', ({ page, port }) => {
  render(page).then(
    (pdf) => port.postMessage(pdf),
    (error) => port.postMessage(error),
  );
});

/**
 * Replaces line breaks and control characters, so that a name cannot imitate another paragraph. PDFKit places words
 * from left to right; non-breaking spaces keep Arabic or Hebrew words in the order of their script.
 */
const oneParagraph = (text) =>
  text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/(?<=[\p{sc=Arabic}\p{sc=Hebrew}]) (?=[\p{sc=Arabic}\p{sc=Hebrew}])/gu, '\u00A0');

/** Renders a document to the bytes of a PDF. @param {import('./pdfRenderer.ts').PdfDocument} content */
async function render({ title, createdAt, paper, watermark, foot, parts }) {
  const pdf = new PDFDocument({
    size: paper,
    margin: MARGIN,
    pdfVersion: '1.7',
    tagged: true,
    lang: 'en-US',
    displayTitle: true,
    info: { Title: title, CreationDate: createdAt },
    bufferPages: true,
  });
  const root = pdf.struct('Document');
  pdf.addStructure(root);
  const incomplete = new Set();
  /** File and name of the font in which a text can be shown: that of its style if possible. */
  const fontFor = (text, font) => {
    const has = (one) =>
      [...text].every((char) => pdf.font(...one)._font.font.hasGlyphForCodePoint(char.codePointAt(0)));
    if (has([font])) return [font];
    if (fallback && has(fallback)) return fallback;
    incomplete.add(text);
    return [font];
  };
  const write = (kind, text) => {
    const { tag, size, font, gap } = styles[kind];
    const shown = oneParagraph(text);
    if (kind === 'heading' && pdf.y > pdf.page.maxY() - KEPT_TOGETHER) pdf.addPage();
    else pdf.fontSize(size).moveDown(gap);
    const paragraph = () =>
      pdf
        .font(...fontFor(shown, font))
        .fontSize(size)
        .text(shown, MARGIN)
        .moveDown(0.4);
    root.add(pdf.struct(tag, { actual: shown }, [paragraph]));
  };
  const cell = (text, font, size, more = {}) => {
    const shown = oneParagraph(text);
    const [src, family] = fontFor(shown, font);
    return { text: shown, font: { src, family, size }, ...more };
  };
  const line = { border: [0, 0, 0.5, 0], borderColor: LINE, padding: [5, 8, 5, 0] };
  const drawFacts = (rows) => {
    const data = rows.map(([label, value]) => [
      cell(label, fonts.regular, 10, { type: 'TH', scope: 'Row', textColor: GRAY }),
      cell(value, fonts.regular, 11),
    ]);
    pdf.font(fonts.regular).table({ data, structParent: root, columnStyles: [120, '*'], defaultStyle: line });
  };
  const drawTable = (head, rows) => {
    const heads = head.map((text) => cell(text, fonts.regular, 9, { type: 'TH', scope: 'Column', textColor: GRAY }));
    const rest = rows.map((row) =>
      row.length === 1
        ? [cell(row[0], fonts.regular, 10, { colSpan: head.length, textColor: GRAY })]
        : row.map((text, index) => cell(text, index === 0 ? fonts.bold : fonts.regular, 10)),
    );
    const columnStyles = ['*', 130, 200];
    pdf.font(fonts.regular).table({ data: [heads, ...rest], structParent: root, columnStyles, defaultStyle: line });
  };
  for (const part of parts) {
    if (part.kind === 'facts') drawFacts(part.rows);
    else if (part.kind === 'table') drawTable(part.head, part.rows);
    else write(part.kind, part.text);
  }
  if (incomplete.size > 0) write('text', NOTE);
  root.end();
  decoratePages(pdf, title, watermark, foot);
  pdf.end();
  return Buffer.concat(await pdf.toArray());
}

/** Writes watermark, foot and page numbers around the text that screen readers read. */
function decoratePages(pdf, title, watermark, foot) {
  const { count } = pdf.bufferedPageRange();
  for (let index = 0; index < count; index += 1) {
    pdf.switchToPage(index);
    const { width, height } = pdf.page;
    pdf.markContent('Artifact', { type: 'Pagination' });
    // Text in the bottom margin would begin a new page.
    pdf.page.margins.bottom = 0;
    pdf.font(fonts.regular).fontSize(8).fillColor(GRAY);
    const place = { width: width - 2 * MARGIN, height: MARGIN };
    pdf.text(`${title}, page ${index + 1} of ${count}\n${foot}`, MARGIN, height - MARGIN * 0.75, place);
    if (watermark !== null) {
      pdf.save().rotate(-52, { origin: [width / 2, height / 2] });
      pdf.font(fonts.bold).fontSize(96).fillColor('black', 0.08);
      pdf.text(watermark, 0, height / 2 - 48, { width, align: 'center', lineBreak: false }).restore();
    }
    pdf.endMarkedContent();
  }
}
