import type { Document } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';

const mebibyte = 1024 * 1024;

/** Media types that documents are stored as, with the extensions that say so; the first one is added when none does. */
const extensions = {
  'application/pdf': ['pdf'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe', 'jfif'],
  'image/png': ['png'],
  'image/tiff': ['tif', 'tiff'],
  'image/heic': ['heic', 'heif'],
} as const;

/** The media type of a stored document. */
export type DocumentMediaType = keyof typeof extensions;

interface DocumentRule {
  readonly types: readonly DocumentMediaType[];
  /** Largest file, in bytes. */
  readonly maxBytes: number;
}

const form: DocumentRule = {
  types: ['application/pdf', 'image/jpeg', 'image/png', 'image/tiff'],
  maxBytes: 20 * mebibyte,
};

/** What each documentType of the interface may hold (D-25). */
export const documentRules = {
  'intake-forms': form,
  'lab-results': form,
  'gfe-forms': form,
  'consent-forms': form,
  'id-card': { types: ['image/jpeg', 'image/png', 'image/heic', 'application/pdf'], maxBytes: 10 * mebibyte },
  photos: { types: ['image/jpeg', 'image/png', 'image/heic'], maxBytes: 20 * mebibyte },
} as const satisfies Record<string, DocumentRule>;

/** The documentType path parameter (D-29). */
export type DocumentType = keyof typeof documentRules;

/** Other spellings that servers use in Content-Type. */
const aliases: Readonly<Record<string, DocumentMediaType>> = {
  'application/x-pdf': 'application/pdf',
  'application/acrobat': 'application/pdf',
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/tif': 'image/tiff',
  'image/x-tif': 'image/tiff',
  'image/x-tiff': 'image/tiff',
  'image/heif': 'image/heic',
};

/** Content types that only say "some file": they claim nothing that could be wrong. */
const unspecific: readonly string[] = [
  'application/octet-stream',
  'binary/octet-stream',
  'application/binary',
  'application/unknown',
  'unknown/unknown',
  'application/download',
  'application/x-download',
  'application/force-download',
  'application/x-force-download',
];

/** Extensions of types that are no document here. Others claim nothing (`scan.final`), like a program's (`download.php`). */
const foreignExtensions: ReadonlySet<string> = new Set(
  `html htm xhtml xml svg svgz css js mjs json txt csv tsv rtf md eml msg
  doc docx docm xls xlsx xlsm ppt pptx odt ods odp pages ps eps ai epub
  gif webp bmp ico avif apng jp2 psd dng cr2 nef dcm
  zip gz tgz bz2 xz 7z rar tar iso dmg jar apk
  exe dll com bat cmd msi scr vbs ps1 sh py lnk hta
  mp3 mp4 m4a mov avi mkv webm wav ogg`.split(/\s+/),
);

/** What the caller asked for. */
export interface UploadRequest {
  readonly documentType: DocumentType;
  readonly documentId: string;
  readonly url: string;
  /** The caller's name for the file. */
  readonly fileName: string | undefined;
}

/** What the fetch brought. */
export interface FileEvidence {
  /** By its magic bytes; undefined when unknown. */
  readonly sniffedType: string | undefined;
  /** The server's Content-Type header. */
  readonly declaredType: string | undefined;
}

/**
 * Decides by content whether a file may be stored as the requested documentType, and how it is called: as the
 * caller says, else as the URL's path ends, else by documentType and documentId; with an extension that fits.
 * @throws Problem document_type_not_allowed by its content; document_type_mismatch by its name or Content-Type
 */
export function describeFile(request: UploadRequest, evidence: FileEvidence) {
  const { types }: DocumentRule = documentRules[request.documentType];
  const type = types.find((allowed) => allowed === evidence.sniffedType);
  if (!type) throw new Problem('document_type_not_allowed', `A document of this type must be ${types.join(', ')}.`);
  const nameInUrl = fileNameInUrl(request.url);
  const name = safeFileName(request.fileName ?? '') ?? nameInUrl ?? `${request.documentType}-${request.documentId}`;
  const claims = [specificType(evidence.declaredType), typeByExtension(name)];
  if (claims.some((claim) => claim !== undefined && claim !== type)) throw new Problem('document_type_mismatch');
  const fileName = withExtension(name, type);
  return { contentType: type, fileName, originalFilename: nameInUrl ?? fileName };
}

/** A Content-Type that makes a claim, in lower case, without parameters and with aliases resolved. */
function specificType(header: string | undefined): string | undefined {
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!/^[^/\s]+\/[^/\s]+$/.test(type) || unspecific.includes(type)) return undefined;
  return aliases[type] ?? type;
}

/** The type that an extension names: an accepted one, 'other' for another known one, or undefined. */
function typeByExtension(name: string): DocumentMediaType | 'other' | undefined {
  const extension = extensionOf(name);
  return documentTypeOf(extension) ?? (foreignExtensions.has(extension) ? 'other' : undefined);
}

function documentTypeOf(extension: string): DocumentMediaType | undefined {
  const types = Object.keys(extensions) as DocumentMediaType[];
  return types.find((type) => extensions[type].some((known) => known === extension));
}

/** Without the dot and in lower case; '' when there is none. */
function extensionOf(name: string): string {
  return /\.([^.\s]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** File systems take 255 bytes for one name; it also keeps the limit of 255 characters. */
const maxNameBytes = 255;

/**
 * The base name of any text in Unicode's NFC, without control characters, invisible line and direction marks (they make
 * `fdp.exe` of `exe.pdf`), lone surrogates, and dots or blanks at the ends. Undefined when nothing is left.
 */
export function safeFileName(text: string): string | undefined {
  const base = text
    .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\ufeff]/gu, '')
    .normalize('NFC')
    .split(/[/\\]/)
    .findLast((part) => /[^.\s]/.test(part));
  return base && cut(base.replace(/^[.\s]+|[.\s]+$/g, ''));
}

/** The safe name in the last segment of a URL's path, or undefined when it has none. */
function fileNameInUrl(url: string): string | undefined {
  const segment = URL.canParse(url) ? new URL(url).pathname.split('/').at(-1) : undefined;
  if (!segment) return undefined;
  try {
    return safeFileName(decodeURIComponent(segment));
  } catch {
    return safeFileName(segment);
  }
}

/** With an extension that fits the type, at most 255 bytes of UTF-8. */
function withExtension(name: string, type: DocumentMediaType): string {
  if (documentTypeOf(extensionOf(name)) === type) return name;
  return cut(`${name}.${extensions[type][0]}`);
}

/** Shortens the stem, by whole characters, until the name fits; a usual extension stays. */
function cut(name: string): string {
  const suffix = /\.[^.\s]{1,16}$/u.exec(name)?.[0] ?? '';
  const room = maxNameBytes - Buffer.byteLength(suffix);
  let stem = '';
  let bytes = 0;
  for (const character of name.slice(0, name.length - suffix.length)) {
    bytes += Buffer.byteLength(character);
    if (bytes > room) break;
    stem += character;
  }
  return stem + suffix;
}

/**
 * The key of a document's object, `blobPath` on the wire. The file's name, which may be a patient's, is not in it:
 * keys appear in logs and bills of object stores.
 */
export function blobPath({
  tenantId,
  patientId,
  documentType,
  documentId,
}: Pick<UploadRequest, 'documentType' | 'documentId'> & Pick<Document, 'tenantId' | 'patientId'>): string {
  return `${tenantId}/clients/${patientId}/${documentType}/${documentId}`;
}
