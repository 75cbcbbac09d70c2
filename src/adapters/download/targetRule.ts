import { allowedOrigins, isAllowedOrigin, isPublicOrigin, parseTarget } from './addressRules.js';

/**
 * Creates the check whether the service may send requests to a URL, as far as possible without DNS.
 * @param allowedHosts `host:port` origins exempt from the address rules
 * @param variable the variable with them
 * @throws Error naming an entry that is not `host:port`
 */
export function targetRule(allowedHosts: readonly string[], variable: string): (text: string) => boolean {
  const allowed = allowedOrigins(allowedHosts, variable);
  return (text) => {
    const url = parseTarget(text);
    return url !== null && (isAllowedOrigin(url, allowed) || isPublicOrigin(url));
  };
}
