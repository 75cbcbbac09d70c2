import { createRequire } from 'node:module';
import { displayedStatus } from '../domain/reviews/approvals.js';
import type { Certificate, CertifiedItem } from '../domain/reviews/certificate.js';

const require = createRequire(import.meta.url);
// The fonts that every PDF reader has cannot write names beyond Western Europe.
const fonts = {
  regular: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
};

const MARGIN = 54;
/** Between lines, in lines: an encounter has at most 20 items, and two lines of each fit on the page. */
const GAP = 0.4;
type Page = PDFKit.PDFDocument;

/** The certificate as a PDF of one page, tagged for screen readers; approvals run out by the tenant's time. */
export async function certificateView(certificate: Certificate, now: Date): Promise<Uint8Array> {
  const { gfeNo } = certificate;
  // Loaded by those who use it.
  const { default: PDFDocument } = await import('pdfkit');
  const page = new PDFDocument({
    size: 'LETTER',
    margin: MARGIN,
    pdfVersion: '1.7',
    tagged: true,
    lang: 'en-US',
    displayTitle: true,
    info: { Title: `Good Faith Estimate ${gfeNo}`, CreationDate: now },
  });
  const document = page.struct('Document');
  page.addStructure(document);
  const write = writer(page, document);
  write('H1', 16, `Good Faith Estimate ${gfeNo}`);
  write('P', 9, `As of ${now.toISOString().slice(0, 16).replace('T', ' ')} UTC`);
  write('P', 11, [certificate.clinicName, certificate.clinicAddress].filter(Boolean).join(', '));
  write('P', 11, `Patient: ${certificate.patientName}, born ${certificate.dateOfBirth}`);
  write('H2', 12, 'Decisions');
  for (const item of certificate.items) {
    const decision = decisionOf(item, now);
    const remark = decision.isOver ? 'NO LONGER IN FORCE – ' : '';
    write('P', 9, `${remark}${item.categoryName}: ${item.subCategoryName}`, 'bold');
    write('P', 7, `${decision.text}. ${basisOf(item)}`);
  }
  document.end();
  return bytesOf(page);
}

type Write = (tag: 'H1' | 'H2' | 'P', size: number, text: string, font?: keyof typeof fonts) => void;

/** One line of the page for each text, cut off at its end. */
function writer(page: Page, document: PDFKit.PDFStructureElement): Write {
  return (tag, size, text, font = tag === 'P' ? 'regular' : 'bold') => {
    const line = (): void => {
      page.font(fonts[font]).fontSize(size).text(text, { height: size, ellipsis: true }).moveDown(GAP);
    };
    document.add(page.struct(tag, {}, [line]));
  };
}

function decisionOf(item: CertifiedItem, now: Date): { readonly text: string; readonly isOver: boolean } {
  const end = dayOf(item.validUntil);
  const over = (how: string) => ({ text: `${how} on ${String(end)}`, isOver: true });
  switch (displayedStatus(item, now)) {
    case 'approved':
      return { text: end === null ? 'Approved, valid without end' : `Approved, valid until ${end}`, isOver: false };
    case 'expired':
      return over('Expired');
    case 'superseded':
      return over('Superseded by a later denial');
    case 'revoked':
      return over('Revoked');
    default:
      return { text: 'Denied', isOver: false };
  }
}

function basisOf({ gfeNo, decidedAt, reviewerRef, providerName, licence }: CertifiedItem): string {
  const provider = [providerName, reviewerRef && `reference ${reviewerRef}`, licence && `licence ${licence}`];
  const by = provider.filter(Boolean).join(', ') || 'an unnamed provider';
  return `Decided by ${by} on ${String(dayOf(decidedAt))} (${gfeNo})`;
}

const dayOf = (time: Date | null): string | null => time && `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function bytesOf(page: Page): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  return new Promise((resolve, reject) => {
    page.on('data', (part: Buffer) => parts.push(part));
    page.on('end', () => resolve(Buffer.concat(parts)));
    page.on('error', reject);
    page.end();
  });
}
