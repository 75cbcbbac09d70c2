import type { Document } from '../../../generated/prisma/client.js';
import type { RemoteFile } from '../../adapters/download/downloader.js';
import { Problem } from '../../problem.js';

const mebibyte = 1024 * 1024;

/** Accepted media types. Names without a fitting extension get the first one; `aliases` are other names of the type. */
const formats = {
  'application/pdf': { extensions: ['pdf'], aliases: ['application/x-pdf', 'application/acrobat'] },
  'image/jpeg': { extensions: ['jpg', 'jpeg', 'jpe', 'jfif'], aliases: ['image/jpg', 'image/pjpeg'] },
  'image/png': { extensions: ['png'], aliases: ['image/x-png'] },
  'image/tiff': { extensions: ['tif', 'tiff'], aliases: ['image/tif', 'image/x-tif', 'image/x-tiff'] },
  'image/heic': { extensions: ['heic', 'heif'], aliases: ['image/heif'] },
} as const;

export type DocumentMediaType = keyof typeof formats;

interface DocumentRule {
  readonly types: readonly DocumentMediaType[];
  /** Maximum size of a file, in bytes. */
  readonly maxBytes: number;
}

const form: DocumentRule = {
  types: ['application/pdf', 'image/jpeg', 'image/png', 'image/tiff'],
  maxBytes: 20 * mebibyte,
};

/** Accepted files by documentType. */
export const documentRules = {
  'intake-forms': form,
  'lab-results': form,
  'gfe-forms': form,
  'consent-forms': form,
  'id-card': { types: ['image/jpeg', 'image/png', 'image/heic', 'application/pdf'], maxBytes: 10 * mebibyte },
  photos: { types: ['image/jpeg', 'image/png', 'image/heic'], maxBytes: 20 * mebibyte },
} as const satisfies Record<string, DocumentRule>;

/** The documentType path parameter. */
export type DocumentType = keyof typeof documentRules;

/** The type of a stored document. The cast is safe, because only uploads write the column. */
export const typeOf = ({ docType }: Pick<Document, 'docType'>): DocumentType => docType as DocumentType;

/** Content types that fit any file, and therefore never contradict the content. */
const unspecific: ReadonlySet<string> = new Set(
  `application/octet-stream binary/octet-stream application/binary application/unknown unknown/unknown
  application/download application/x-download application/force-download application/x-force-download`.split(/\s+/),
);

/** Extensions of rejected types. Unknown ones (`scan.final`) and those of web scripts (`download.php`) prove no type. */
const foreignExtensions: ReadonlySet<string> = new Set(
  `html htm xhtml xml svg svgz css js mjs json txt csv tsv rtf md eml msg
  doc docx docm xls xlsx xlsm ppt pptx odt ods odp pages ps eps ai epub
  gif webp bmp ico avif apng jp2 psd dng cr2 nef dcm
  zip gz tgz bz2 xz 7z rar tar iso dmg jar apk
  exe dll com bat cmd msi scr vbs ps1 sh py lnk hta
  mp3 mp4 m4a mov avi mkv webm wav ogg`.split(/\s+/),
);

export interface UploadRequest {
  readonly documentType: DocumentType;
  readonly documentId: string;
  readonly url: string;
  readonly fileName: string | undefined;
}

/** The evidence about a file's type that its download gives. */
export type FileEvidence = Pick<RemoteFile, 'sniffedType' | 'declaredType'>;

/**
 * Names a file if it may be stored. The name is the given one, else that of the URL, else type and id; its
 * extension fits the content.
 * @throws Problem document_type_not_allowed for the content; document_type_mismatch if name or Content-Type differ
 */
export function describeFile(request: UploadRequest, evidence: FileEvidence) {
  const { types }: DocumentRule = documentRules[request.documentType];
  const type = types.find((allowed) => allowed === evidence.sniffedType);
  if (!type)
    throw new Problem('document_type_not_allowed', `A document of this type must be one of ${types.join(', ')}.`);
  const nameInUrl = fileNameInUrl(request.url);
  const name = safeFileName(request.fileName ?? '') ?? nameInUrl ?? `${request.documentType}-${request.documentId}`;
  const claims = [specificType(evidence.declaredType), typeByExtension(name)];
  if (claims.some((claim) => claim !== undefined && claim !== type)) throw new Problem('document_type_mismatch');
  const fileName = withExtension(name, type);
  return { contentType: type, fileName, originalFilename: nameInUrl ?? fileName };
}

/** The Content-Type in lower case, without parameters, by its main name; undefined if it says nothing. */
function specificType(header: string | undefined): string | undefined {
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!/^[^/\s]+\/[^/\s]+$/.test(type) || unspecific.has(type)) return undefined;
  return formatWith('aliases', type) ?? type;
}

/** The accepted type with this extension; 'other' for a rejected type; undefined if the extension says nothing. */
function typeByExtension(name: string): DocumentMediaType | 'other' | undefined {
  const extension = extensionOf(name);
  return formatWith('extensions', extension) ?? (foreignExtensions.has(extension) ? 'other' : undefined);
}

function formatWith(kind: 'extensions' | 'aliases', text: string): DocumentMediaType | undefined {
  const types = Object.keys(formats) as DocumentMediaType[];
  return types.find((type) => formats[type][kind].some((known) => known === text));
}

/** The extension in lower case without the dot, or ''. */
function extensionOf(name: string): string {
  return /\.([^.\s]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** Maximum of a file name in bytes: that of file systems, which is within the contract's 255 characters. */
const maxNameBytes = 255;

/** The base name in NFC, without control characters and direction marks (they make `fdp.exe` look like `exe.pdf`). */
export function safeFileName(text: string): string | undefined {
  const base = text
    .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\ufeff]/gu, '')
    .normalize('NFC')
    .split(/[/\\]/)
    .findLast((part) => /[^.\s]/.test(part));
  return base && cut(base.replace(/^[.\s]+|[.\s]+$/g, ''));
}

/** The file name in the last segment of a URL's path, made safe; undefined if there is none. */
function fileNameInUrl(url: string): string | undefined {
  const segment = URL.canParse(url) ? new URL(url).pathname.split('/').at(-1) : undefined;
  if (!segment) return undefined;
  try {
    return safeFileName(decodeURIComponent(segment));
  } catch {
    return safeFileName(segment);
  }
}

/** Adds the type's extension if the name has none of that type. Limits the name to 255 bytes of UTF-8. */
function withExtension(name: string, type: DocumentMediaType): string {
  if (formatWith('extensions', extensionOf(name)) === type) return name;
  return cut(`${name}.${formats[type].extensions[0]}`);
}

/** Shortens a name to 255 bytes of whole characters; keeps an extension of up to 16 characters. */
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

/** The object key of a document, without the file name: object stores write keys to logs and bills. */
export function blobPath({
  tenantId,
  patientId,
  documentType,
  documentId,
}: Pick<UploadRequest, 'documentType' | 'documentId'> & Pick<Document, 'tenantId' | 'patientId'>): string {
  return `${tenantId}/clients/${patientId}/${documentType}/${documentId}`;
}
