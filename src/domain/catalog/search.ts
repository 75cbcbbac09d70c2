/**
 * The words of a search as they are looked for in lower-cased key columns; none when it is blank. White space and
 * punctuation part words; in punctuation alone, white space does. Lower case is taken of one character at a time
 * as PostgreSQL does it: in a whole text a final Σ would become another letter than in the column.
 */
export function searchWords(search: string | undefined): string[] {
  const text = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  const wordsBetween = (separator: RegExp) => [...new Set(text.split(separator))].filter((word) => word !== '');
  const words = wordsBetween(/[\s\p{P}]+/u);
  return words.length > 0 ? words : wordsBetween(/\s+/u);
}
