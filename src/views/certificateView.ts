import { Temporal } from 'temporal-polyfill';
import type { PdfDocument } from '../adapters/pdf/pdfRenderer.js';
import { statusAt } from '../domain/approvals/coverage.js';
import type { Certificate } from '../domain/reviews/certificate.js';
import { guardianView } from './patientView.js';

type CertifiedItem = Certificate['items'][number];

/** Formats a time for the certificate. */
type Clock = (time: Date | null) => string;

/** The pages of the certificate (R-223); approvals expire by the tenant's clock. */
export function certificateView(certificate: Certificate, now: Date): PdfDocument {
  const { gfeNo, tenantName, isSandbox, clinicName, clinicAddress, timeZone, items } = certificate;
  const title = `Good Faith Estimate ${gfeNo}`;
  const clock = clockOf(timeZone);
  return {
    title,
    createdAt: now,
    lines: [
      { tag: 'H1', size: 16, isBold: true, text: title },
      paragraph(9, `As of ${clock(now)}${timeZone === null ? '' : `. Local time of the clinic: ${timeZone}`}`),
      ...(isSandbox ? [paragraph(14, 'SANDBOX – not a medical record', true)] : []),
      paragraph(11, `Issued by ${[clinicName, clinicAddress].filter(Boolean).join(', ')}`),
      paragraph(9, `Service of ${tenantName}`),
      ...patientLines(certificate),
      { tag: 'H2', size: 12, isBold: true, text: 'Decisions' },
      paragraph(9, `Provider: ${providerOf(certificate)}`),
      ...items.flatMap((item) => itemLines(item, now, clock)),
    ],
  };
}

const paragraph = (size: number, text: string, isBold = false) => ({ tag: 'P' as const, size, isBold, text });

function patientLines({ patientId, identity, isIdentityChanged }: Certificate) {
  const { firstName, lastName, dateOfBirth } = identity;
  const guardian = guardianView(identity.guardian);
  return [
    // Put a name at the end of its line: PDFKit misplaces text that follows a script from right to left.
    paragraph(11, `Patient: ${firstName} ${lastName}`),
    paragraph(11, `Born: ${dateOfBirth}`),
    paragraph(9, `Patient id: ${patientId}`),
    ...(guardian ? [paragraph(11, `Guardian: ${guardian.name}`), paragraph(11, `Relation: ${guardian.relation}`)] : []),
    ...(isIdentityChanged
      ? [paragraph(11, "The patient's name or birth date has changed since the review.", true)]
      : []),
  ];
}

function itemLines(item: CertifiedItem, now: Date, clock: Clock) {
  const decision = decisionOf(item, now, clock);
  const remark = decision.isOver ? 'NO LONGER IN FORCE – ' : '';
  const approved = item.approvedTreatments.join('; ');
  const declined = item.declinedTreatments.join('; ');
  return [
    paragraph(9, `${remark}${item.categoryName}: ${item.subCategoryName}`, true),
    paragraph(8, decision.text),
    ...(approved ? [paragraph(8, `Treatments: ${approved}`)] : []),
    ...(declined ? [paragraph(8, `Not approved: ${declined}`)] : []),
    paragraph(8, `Decided on ${clock(item.decidedAt)}`),
    ...(item.rationale ? [paragraph(8, `Rationale: ${item.rationale}`)] : []),
  ];
}

function decisionOf(item: CertifiedItem, now: Date, clock: Clock): { readonly text: string; readonly isOver: boolean } {
  const end = clock(item.validUntil);
  const over = (how: string) => ({ text: `${how} on ${end}`, isOver: true });
  switch (statusAt(item, now)) {
    case 'approved':
      return { text: item.validUntil ? `Approved, valid until ${end}` : 'Approved, valid without end', isOver: false };
    case 'expired':
      return over('Expired');
    case 'superseded':
      return over('Superseded by a later decision');
    case 'revoked':
      return over('Revoked');
    default:
      return { text: 'Denied', isOver: false };
  }
}

function providerOf({ reviewerRef, provider }: Certificate): string {
  const parts = [
    provider?.name,
    provider?.credential,
    provider && `NPI ${provider.npi}`,
    reviewerRef && `reference ${reviewerRef}`,
    provider?.licence && `license ${provider.licence}`,
  ];
  return parts.filter(Boolean).join(', ') || 'not named';
}

/** Formats a time in UTC and, if the clinic has a time zone, in its local time. */
function clockOf(timeZone: string | null): Clock {
  const minute = (time: Date, zone: string): string => {
    const local = Temporal.Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(zone).toPlainDateTime();
    return local.toString({ smallestUnit: 'minute' }).replace('T', ' ');
  };
  return (time) => {
    if (!time) return 'an unknown day';
    const local = timeZone === null ? '' : ` (${minute(time, timeZone)} local time)`;
    return `${minute(time, 'UTC')} UTC${local}`;
  };
}
