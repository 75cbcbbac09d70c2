import type { Document } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';

/** Seconds that a link to a stored document works. */
const LINK_SECONDS = 900;

/** Signed; anyone who has it can read the file until it expires. */
export function linkDocument(
  { objects, realNow }: Pick<Context, 'objects' | 'realNow'>,
  file: Pick<Document, 'blobPath' | 'fileName' | 'contentType'>,
): Promise<string> {
  return objects.link(file.blobPath, file, realNow(), LINK_SECONDS);
}
