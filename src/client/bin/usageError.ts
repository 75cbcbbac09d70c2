/** A mistake by the user of this program. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
