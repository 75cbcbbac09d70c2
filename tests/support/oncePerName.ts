/** Makes what takes several requests, such as a token, once for each name. */
export function oncePerName<T>(): (name: string, make: () => Promise<T>) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (name, make) => {
    const one = made.get(name) ?? make();
    made.set(name, one);
    return one;
  };
}
