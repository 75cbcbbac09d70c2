/**
 * The words of a search. They are split at white space and punctuation; a word of punctuation only is split only at
 * white space. Lower-cases single characters, as PostgreSQL does: for a whole text, JavaScript changes a final
 * Σ.
 */
export function searchWords(search: string | undefined): string[] {
  const text = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  const wordsBetween = (separator: RegExp) => [...new Set(text.split(separator))].filter((word) => word !== '');
  const words = wordsBetween(/[\s\p{P}]+/u);
  return words.length > 0 ? words : wordsBetween(/\s+/u);
}
