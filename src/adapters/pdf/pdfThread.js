import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import { constants, platform, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import PDFDocument from 'pdfkit';

// This file runs as the thread of `openPdfRenderer`. It is JavaScript because Node loads it without tsx.

const require = createRequire(import.meta.url);
// Embed a font: the standard PDF fonts only cover Western European names.
const fonts = {
  regular: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
};

// Serve requests before rendering pages: on Linux, lower the priority of this thread; elsewhere it would affect the process.
try {
  if (platform() === 'linux') setPriority(constants.priority.PRIORITY_LOW);
} catch {
  // A seccomp profile may forbid this. Render at normal priority then.
}

const MARGIN = 54;
/** Space between paragraphs, in lines. */
const GAP = 0.4;
/** Points below a bold paragraph: with less space, it moves to the next page with the text that it introduces. */
const KEPT_TOGETHER = 60;
/** Added at the end of the document if the font lacks a character of its text, for example of Chinese. */
const NOTE = 'A box stands for a character that this document cannot show.';

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
async function render({ title, createdAt, lines }) {
  const pdf = new PDFDocument({
    size: 'LETTER',
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
  /** Writes a paragraph. @returns whether the font has every character */
  const write = ({ tag, size, text, isBold }) => {
    pdf.font(isBold ? fonts.bold : fonts.regular).fontSize(size);
    if (isBold && pdf.y > pdf.page.maxY() - KEPT_TOGETHER) pdf.addPage();
    else if (isBold) pdf.moveDown(GAP);
    const shown = oneParagraph(text);
    const isComplete = [...shown].every((character) => pdf._font.font.hasGlyphForCodePoint(character.codePointAt(0)));
    // Give screen readers the original text where the font lacks characters.
    const options = isComplete ? {} : { actual: shown };
    root.add(pdf.struct(tag, options, [() => pdf.text(shown).moveDown(GAP)]));
    return isComplete;
  };
  const areComplete = lines.map(write);
  if (areComplete.includes(false)) write({ tag: 'P', size: 8, isBold: false, text: NOTE });
  root.end();
  numberPages(pdf, title);
  pdf.end();
  return Buffer.concat(await pdf.toArray());
}

/** Writes page numbers into the margins, outside of the text that screen readers read. */
function numberPages(pdf, title) {
  const { count } = pdf.bufferedPageRange();
  pdf.font(fonts.regular).fontSize(8);
  for (let index = 0; index < count; index += 1) {
    pdf.switchToPage(index);
    pdf.markContent('Artifact', { type: 'Pagination' });
    const y = pdf.page.maxY() + MARGIN / 3;
    pdf.text(`${title}, page ${index + 1} of ${count}`, MARGIN, y, { lineBreak: false });
    pdf.endMarkedContent();
  }
}
