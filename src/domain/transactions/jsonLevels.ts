/** The depth of nested arrays and objects in a JSON text. Without recursion: deep nesting would overflow the stack. */
export function levelsOf(text: string): number {
  let [level, deepest, isString] = [0, 0, false];
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (char === '"') isString = !isString;
    else if (isString) index += char === '\\' ? 1 : 0;
    else if (char === '{' || char === '[') deepest = Math.max(deepest, (level += 1));
    else if (char === '}' || char === ']') level -= 1;
  }
  return deepest;
}
