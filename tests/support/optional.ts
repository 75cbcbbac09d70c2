/**
 * Whether an optional tool is installed; if not, prints on standard error which tests are skipped.
 * @param what the tests that are skipped without it
 * @throws Error if it is missing and REQUIRE_ALL is set, as in CI, which must not skip tests
 */
export function isThere(found: boolean, what: string, advice: string): boolean {
  if (found) return true;
  if (process.env['REQUIRE_ALL']) throw new Error(`REQUIRE_ALL is set, but ${what} cannot run. ${advice}`);
  process.stderr.write(`SKIPPED: ${what}. ${advice}\n`);
  return false;
}

/** The advice to install packages of Debian. */
export const packages = (names: string): string => `Install it: apt-get install --no-install-recommends ${names}`;
