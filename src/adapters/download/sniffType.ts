/** Bytes from the start of a file that are enough to tell its type. */
export const sniffLength = 4100;

/**
 * Magic bytes of the types that a document may have. file-type alone is too lenient (it skips a byte order mark or an
 * ID3 tag before a PDF) and too strict (it knows no very short PNG, and no TIFF with its directory at the end, as
 * scanners write it).
 */
const signatures: readonly (readonly [type: string, magic: Buffer])[] = [
  ['application/pdf', Buffer.from('%PDF-', 'latin1')],
  ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff])],
  ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/tiff', Buffer.from('II*\0', 'latin1')],
  ['image/tiff', Buffer.from('MM\0*', 'latin1')],
  ['image/tiff', Buffer.from('II+\0', 'latin1')],
  ['image/tiff', Buffer.from('MM\0+', 'latin1')],
];

/**
 * The media type of a file by its first bytes (at most `sniffLength`); undefined when it is unknown. Ours need their
 * magic bytes at the very start, and file-type to know no better: a camera's raw format starts like a TIFF.
 */
export async function sniffType(start: Uint8Array): Promise<string | undefined> {
  const prefix = start.subarray(0, sniffLength);
  const signed = signatures.find(([, magic]) => magic.equals(prefix.subarray(0, magic.length)))?.[0];
  // Loaded with the first document.
  const { fileTypeFromBuffer } = await import('file-type');
  // A malformed archive makes it throw; such a file is of no type that we know.
  const detected = (await fileTypeFromBuffer(prefix).catch(() => undefined))?.mime;
  const ours = signatures.some(([type]) => type === detected);
  return detected === undefined || ours ? signed : detected;
}
