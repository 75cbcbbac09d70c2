/**
 * The words of a search, split at white space and punctuation; a search of punctuation alone is split at white space
 * only. Lower-cases each character alone, as PostgreSQL does: in a whole text, JavaScript changes a final Σ.
 */
export function searchWords(search: string | undefined): string[] {
  const text = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  const wordsBetween = (separator: RegExp) => [...new Set(text.split(separator))].filter((word) => word !== '');
  const words = wordsBetween(/[\s\p{P}]+/u);
  return words.length > 0 ? words : wordsBetween(/\s+/u);
}
