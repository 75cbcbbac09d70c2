/** Makes an expensive value, such as a token, once for each name. */
export function oncePerName<T>(): (name: string, make: () => Promise<T>) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (name, make) => {
    const value = made.get(name) ?? make();
    made.set(name, value);
    return value;
  };
}
