import { configFaults } from '../config.js';
import { variables } from '../configVariables.js';

export interface Setting {
  readonly name: string;
  /** The value without its secret parts; null if the variable has no value, or a wrong one. */
  readonly value: string | null;
  readonly source: 'environment' | 'default' | 'wrong';
}

const HIDDEN = '(hidden)';

/** Every variable of the service with its value. Wrong values may be misplaced secrets, so they are left out. */
export function settingsOf(environment: Readonly<Record<string, string | undefined>>): Setting[] {
  const faults = configFaults(environment);
  return Object.entries(variables).map(([name, { default: fallback }]) => {
    if (faults.has(name)) return { name, value: null, source: 'wrong' };
    const given = environment[name];
    if (given) return { name, value: shown(name, given), source: 'environment' };
    // Show no default of a list, because it is empty.
    const isShown = fallback !== undefined && typeof fallback !== 'object';
    return { name, value: isShown ? String(fallback) : null, source: 'default' };
  });
}

/** The value to show: without keys and passphrases; of a URL only protocol, host and path. */
function shown(name: string, value: string): string {
  if (/_(KEY|PASSPHRASE)$/.test(name)) return HIDDEN;
  if (!value.includes('://')) return value;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  // Hide this URL: a password with unescaped characters may have been parsed as host or path.
  if (!url || (value.includes('@') && url.username === '')) return HIDDEN;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
