/** Number of bytes at the start of a file that the type detection needs. */
export const sniffLength = 4100;

/** file-type skips a byte order mark or ID3 tag, and would accept a text or sound that continues like a document. */
const skippedStart = /^(\xef\xbb\xbf|ID3)/;
/** The start of a TIFF file. file-type misses TIFFs with the directory at the end, where scanners write it. */
const tiffStart = /^(II[*+]\0|MM\0[*+])/;

/** The media type of a file, judged by its first `sniffLength` bytes; undefined = unknown. */
export async function sniffType(start: Uint8Array): Promise<string | undefined> {
  const prefix = Buffer.from(start.subarray(0, sniffLength));
  const text = prefix.toString('latin1');
  if (skippedStart.test(text)) return undefined;
  const { fileTypeFromBuffer } = await import('file-type');
  // file-type throws on malformed archives. Those are no documents, so treat them as unknown.
  const detected = await fileTypeFromBuffer(prefix).catch(() => undefined);
  return detected?.mime ?? (tiffStart.test(text) ? 'image/tiff' : undefined);
}
