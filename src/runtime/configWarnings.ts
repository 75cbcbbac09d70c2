import { closestMatch } from 'leven';
import { conditionOf, variables } from '../configVariables.js';

const names = Object.keys(variables);

/** The names of the service's variables that are set. */
export const setVariables = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  names.filter((name) => environment[name]);

/** Probable mistakes in the environment that are not errors, as sentences without values. */
export function configWarnings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const warnings = Object.keys(environment)
    .filter((name) => environment[name])
    .flatMap((name) => {
      const meant = names.includes(name) ? undefined : nearMiss(name);
      if (meant && !environment[meant]) return `${name} is not a variable of this service: did you mean ${meant}?`;
      const condition = names.includes(name) ? conditionOf(name) : undefined;
      const [other = '', value] = condition?.split('=') ?? [];
      const isMet = value === undefined ? environment[other] : environment[other] === value;
      return condition && !isMet ? `${name} has no effect without ${condition}: set both, or neither.` : [];
    });
  // A shell that reads a file for systemd loses a DATABASE_URL with & and without quotes.
  if (!environment['DATABASE_URL'] && environment['BASE_URL']?.startsWith('https:'))
    warnings.push('DATABASE_URL is not set: set it, or the embedded database in DATA_DIR is used.');
  if (environment['RATE_LIMIT'] === 'off')
    warnings.push('RATE_LIMIT=off: clients may send any number of requests. Use it for load tests only.');
  return warnings;
}

/** The variable that was probably meant: the name differs by separators, case or up to two typing errors. */
function nearMiss(name: string): string | undefined {
  const letters = lettersOf(name);
  const respelled = names.find((known) => lettersOf(known) === letters);
  // Allow two errors only in long names, because two errors turn short names into other words: HOME is not HOST.
  const long = names.filter((known) => known.length >= 8);
  return respelled ?? closestMatch(name.toUpperCase(), long, { maxDistance: 2 });
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z\d]/g, '');
