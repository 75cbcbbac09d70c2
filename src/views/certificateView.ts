import type { PdfPage } from '../adapters/pdf/pdfRenderer.js';
import { displayedStatus } from '../domain/approvals/approvals.js';
import type { Certificate, CertifiedItem } from '../domain/reviews/certificate.js';

/** The page of the certificate; approvals expire by the tenant's clock. */
export function certificateView({ gfeNo, items, ...certificate }: Certificate, now: Date): PdfPage {
  const title = `Good Faith Estimate ${gfeNo}`;
  return {
    title,
    createdAt: now,
    lines: [
      { tag: 'H1', size: 16, isBold: true, text: title },
      paragraph(9, `As of ${now.toISOString().slice(0, 16).replace('T', ' ')} UTC`),
      paragraph(11, [certificate.clinicName, certificate.clinicAddress].filter(Boolean).join(', ')),
      paragraph(11, `Patient: ${certificate.patientName}, born ${certificate.dateOfBirth}`),
      { tag: 'H2', size: 12, isBold: true, text: 'Decisions' },
      ...items.flatMap((item) => {
        const decision = decisionOf(item, now);
        const remark = decision.isOver ? 'NO LONGER IN FORCE – ' : '';
        return [
          paragraph(9, `${remark}${item.categoryName}: ${item.subCategoryName}`, true),
          paragraph(7, `${decision.text}. ${basisOf(item)}`),
        ];
      }),
    ],
  };
}

const paragraph = (size: number, text: string, isBold = false) => ({ tag: 'P' as const, size, isBold, text });

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
