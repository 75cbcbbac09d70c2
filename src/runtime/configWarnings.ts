import { closestMatch } from 'leven';
import { variables } from '../configVariables.js';

const UNLIMITED = 'RATE_LIMIT=off: clients may send as much as they like. This is for load tests.';

const names = Object.keys(variables.properties);

/** Variables that only count while another one has a value. */
const DEPENDENT = [
  { prefix: 'S3_', needs: 'OBJECT_STORE', value: 's3' },
  { prefix: 'CLAMAV_', needs: 'DOCUMENT_SCANNER', value: 'clamav' },
  { prefix: 'DATABASE_OWNER_URL', needs: 'DATABASE_URL', value: undefined },
  { prefix: 'METRICS_HOST', needs: 'METRICS_PORT', value: undefined },
] as const;

/** What in the environment is probably a mistake, though it is not wrong: a sentence each, without any value. */
export function configWarnings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const given = Object.keys(environment).filter((name) => environment[name]);
  const faults = given.flatMap((name) => {
    if (!names.includes(name)) {
      const meant = nearMiss(name);
      if (meant === undefined || environment[meant]) return [];
      return [`${name} is not a variable of this service: did you mean ${meant}?`];
    }
    const { needs, value } = DEPENDENT.find(({ prefix }) => name.startsWith(prefix)) ?? {};
    if (!needs || (value === undefined ? environment[needs] : environment[needs] === value)) return [];
    return [`${name} has no effect without ${needs}${value === undefined ? '' : `=${value}`}.`];
  });
  return environment['RATE_LIMIT'] === 'off' ? [...faults, UNLIMITED] : faults;
}

/** The variable that a name was probably meant for: another spelling of its words, or one with a typing error or two. */
function nearMiss(name: string): string | undefined {
  const letters = lettersOf(name);
  const respelt = names.find((known) => lettersOf(known) === letters);
  // Two errors make another word of a short name: HOME is not HOST.
  const long = names.filter((known) => known.length >= 8);
  return respelt ?? closestMatch(name.toUpperCase(), long, { maxDistance: 2 });
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z\d]/g, '');
