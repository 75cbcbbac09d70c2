import { allowedOrigins, isAllowedOrigin, isPublicOrigin, parseTarget } from './addressRules.js';

/** Makes the check, without DNS, whether to send requests to a URL. @throws Error naming a malformed entry */
export function targetRule(allowedHosts: readonly string[], variable: string): (text: string) => boolean {
  const allowed = allowedOrigins(allowedHosts, variable);
  return (text) => {
    const url = parseTarget(text);
    return url !== null && (isAllowedOrigin(url, allowed) || isPublicOrigin(url));
  };
}
