/**
 * The words of a search, in lower case like the key columns; empty if the search is blank. White space and punctuation
 * separate words; a search of punctuation alone is split at white space only. Lower-cases each character
 * separately, as PostgreSQL does: in a whole text, JavaScript turns a final Σ into a different letter than the column
 * has.
 */
export function searchWords(search: string | undefined): string[] {
  const text = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  const wordsBetween = (separator: RegExp) => [...new Set(text.split(separator))].filter((word) => word !== '');
  const words = wordsBetween(/[\s\p{P}]+/u);
  return words.length > 0 ? words : wordsBetween(/\s+/u);
}
