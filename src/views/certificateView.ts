import { Temporal } from 'temporal-polyfill';
import type { PdfDocument, PdfPart } from '../adapters/pdf/pdfRenderer.js';
import type { Input, Schemas } from '../contract.js';
import { standing } from '../domain/approvals/coverage.js';
import type { Certificate, verifyCertificate } from '../domain/reviews/certificate.js';
import { guardianView } from './patientView.js';
import { timestamp } from './values.js';

type CertifiedItem = Certificate['items'][number];

interface Shown {
  /** The tenant's time, by which approvals expire. */
  readonly now: Date;
  readonly paper: Input<'getCertificate'>['query']['paper'];
  /** The service's public address. */
  readonly baseUrl: string;
}

/** Formats a time for the certificate. */
type Clock = (time: Date | null) => string;

/** The pages of the certificate. */
export function certificateView(certificate: Certificate, { now, paper, baseUrl }: Shown): PdfDocument {
  const { gfeNo, code, isSandbox, isIdentityChanged, timeZone, items } = certificate;
  const clock = clockOf(timeZone);
  return {
    title: `Good Faith Estimate ${gfeNo}`,
    createdAt: now,
    paper,
    watermark: isSandbox ? 'SANDBOX' : null,
    foot: `Verify at ${baseUrl}/certificates/${code}`,
    parts: [
      { kind: 'title', text: `Good Faith Estimate ${gfeNo}` },
      { kind: 'text', text: `As of ${clock(now)}` },
      ...(isSandbox ? [warning('SANDBOX – not a medical record')] : []),
      { kind: 'facts', rows: factsOf(certificate) },
      ...(isIdentityChanged ? [warning("The patient's name or birth date has changed since the review.")] : []),
      ...items.flatMap((item) => itemParts(item, now, clock)),
    ],
  };
}

const warning = (text: string): PdfPart => ({ kind: 'warning', text });

function factsOf(certificate: Certificate): [label: string, value: string][] {
  const { clinicName, clinicAddress, timeZone, tenantName, patientId, identity, provider, reviewerRef } = certificate;
  const guardian = guardianView(identity.guardian);
  const rows: [string, string | null | undefined][] = [
    ['Issued by', [clinicName, clinicAddress].filter(Boolean).join(', ')],
    ['Service of', tenantName],
    ['Local time', timeZone],
    ['Patient', `${identity.firstName} ${identity.lastName}`],
    ['Born', identity.dateOfBirth],
    ['Patient id', patientId],
    ['Guardian', guardian && `${guardian.name}, ${guardian.relation}`],
    ['Provider', provider ? [provider.name, provider.credential].filter(Boolean).join(', ') : 'not registered'],
    ['NPI', provider?.npi],
    ['License', provider?.license],
    ['Provider reference', reviewerRef],
  ];
  return rows.flatMap(([label, value]) => (value ? [[label, value]] : []));
}

function itemParts(item: CertifiedItem, now: Date, clock: Clock): PdfPart[] {
  const rows = item.treatments.map((treatment) => [treatment.name, ...decisionOf(treatment, now, clock)]);
  const remarks = [`Decided on ${clock(item.decidedAt)}`, ...(item.rationale ? [`Rationale: ${item.rationale}`] : [])];
  return [
    { kind: 'heading', text: `${item.categoryName}: ${item.subCategoryName}` },
    { kind: 'table', head: ['Treatment', 'Decision', 'End'], rows: [...rows, ...remarks.map((text) => [text])] },
  ];
}

/** The provider's decision about a treatment, with the end of its approval. */
function decisionOf(treatment: CertifiedItem['treatments'][number], now: Date, clock: Clock): [string, string] {
  const over = (how: string, time: Date | null): [string, string] => ['NO LONGER IN FORCE', `${how} on ${clock(time)}`];
  switch (standing(treatment, now)) {
    case 'approved':
      return ['Approved', treatment.validUntil ? `Valid until ${clock(treatment.validUntil)}` : 'Valid without end'];
    case 'expired':
      return over('Expired', treatment.validUntil);
    case 'superseded':
      return over('Superseded by a later decision', treatment.endedAt);
    case 'revoked':
      return over('Revoked', treatment.endedAt);
    case 'declined':
      return ['Not approved', '–'];
    default:
      return ['Denied', '–'];
  }
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

export function certificateStatusView(
  certificate: Awaited<ReturnType<typeof verifyCertificate>>,
): Schemas['CertificateStatus'] {
  const { status, gfeNo, clinicName, tenant, validUntil } = certificate;
  return {
    status,
    gfe_no: gfeNo,
    clinic: clinicName,
    issuer: tenant.name,
    sandbox: tenant.mode === 'sandbox',
    valid_until: timestamp(validUntil),
  };
}
