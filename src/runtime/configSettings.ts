import { configFaults } from '../config.js';
import { variables } from '../configVariables.js';

export interface Setting {
  readonly name: string;
  /** Without secrets; null if there is none, or if it is wrong. */
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
    // Lists are empty by default.
    const isShown = fallback !== undefined && typeof fallback !== 'object';
    return { name, value: isShown ? String(fallback) : null, source: 'default' };
  });
}

/** Leaves out keys, passphrases and, of URLs, everything except protocol, host and path. */
function shown(name: string, value: string): string {
  if (/_(KEY|PASSPHRASE)$/.test(name)) return HIDDEN;
  if (!value.includes('://')) return value;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  // A password with unescaped characters may be parsed as host or path.
  if (!url || (value.includes('@') && url.username === '')) return HIDDEN;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
