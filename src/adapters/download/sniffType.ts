/** Number of bytes at the start of a file from which its type is detected. */
export const sniffLength = 4100;

/** file-type skips a byte order mark and an ID3 tag, which would hide a text or a sound in front of the document. */
const skippedStart = /^(\xef\xbb\xbf|ID3)/;
/** file-type does not recognize a TIFF whose directory lies further back, where scanners write it. */
const tiffStart = /^(II[*+]\0|MM\0[*+])/;

/** The media type of a file by its first bytes (up to `sniffLength`); undefined if it is unknown. */
export async function sniffType(start: Uint8Array): Promise<string | undefined> {
  const prefix = Buffer.from(start.subarray(0, sniffLength));
  const text = prefix.toString('latin1');
  if (skippedStart.test(text)) return undefined;
  // Loaded with the first document.
  const { fileTypeFromBuffer } = await import('file-type');
  // file-type throws on a malformed archive, which is not a document.
  const detected = await fileTypeFromBuffer(prefix).catch(() => undefined);
  return detected?.mime ?? (tiffStart.test(text) ? 'image/tiff' : undefined);
}
