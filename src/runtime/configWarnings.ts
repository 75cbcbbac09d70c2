import { variables } from '../configVariables.js';

/** The names of the service's variables that are set. */
export const setVariables = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(variables).filter((name) => environment[name]);

/** Dangerous settings that are not errors, as sentences without values. */
export const configWarnings = ({ RATE_LIMIT }: Readonly<Record<string, string | undefined>>): string[] =>
  RATE_LIMIT === 'off' ? ['RATE_LIMIT=off: clients may send any number of requests. Use it for load tests only.'] : [];
