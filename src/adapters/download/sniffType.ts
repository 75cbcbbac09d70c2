/** Bytes at the start of a file that the type detection needs. */
export const sniffLength = 4100;

/** file-type skips a byte order mark and an ID3 tag, which would hide a text or a sound before the document. */
const skippedStart = /^(\xef\xbb\xbf|ID3)/;
/** file-type misses TIFFs whose directory is at the end, where scanners write it. */
const tiffStart = /^(II[*+]\0|MM\0[*+])/;

/** The media type of a file by its first bytes (up to `sniffLength`); undefined = unknown. */
export async function sniffType(start: Uint8Array): Promise<string | undefined> {
  const prefix = Buffer.from(start.subarray(0, sniffLength));
  const text = prefix.toString('latin1');
  if (skippedStart.test(text)) return undefined;
  const { fileTypeFromBuffer } = await import('file-type');
  // file-type throws on malformed archives, which are not documents.
  const detected = await fileTypeFromBuffer(prefix).catch(() => undefined);
  return detected?.mime ?? (tiffStart.test(text) ? 'image/tiff' : undefined);
}
