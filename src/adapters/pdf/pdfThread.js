import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import { constants, platform, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import PDFDocument from 'pdfkit';

// The thread of `openPdfRenderer`. Node loads it without tsx, so it is not TypeScript.

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
  // A seccomp profile may forbid it. Pages are rendered all the same.
}

const MARGIN = 54;
/** Between lines, in lines: an encounter has at most 20 items, and two lines of each fit on the page. */
const GAP = 0.4;

parentPort.on('message', ({ page, port }) => {
  render(page).then(
    (pdf) => port.postMessage(pdf),
    (error) => port.postMessage(error),
  );
});

/** @param {import('./pdfRenderer.ts').PdfPage} page */
async function render({ title, createdAt, lines }) {
  const page = new PDFDocument({
    size: 'LETTER',
    margin: MARGIN,
    pdfVersion: '1.7',
    tagged: true,
    lang: 'en-US',
    displayTitle: true,
    info: { Title: title, CreationDate: createdAt },
  });
  const document = page.struct('Document');
  page.addStructure(document);
  for (const { tag, size, text, isBold } of lines) {
    const line = () => {
      const font = isBold ? fonts.bold : fonts.regular;
      page.font(font).fontSize(size).text(text, { height: size, ellipsis: true }).moveDown(GAP);
    };
    document.add(page.struct(tag, {}, [line]));
  }
  document.end();
  page.end();
  return Buffer.concat(await page.toArray());
}
