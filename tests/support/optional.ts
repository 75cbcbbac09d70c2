/**
 * Whether something is there that is optional for people; says plainly on standard error when it is not.
 * @param what tests that are skipped without it
 * @throws Error when it is not there and REQUIRE_ALL is set, as in CI: nothing may be skipped there
 */
export function isThere(found: boolean, what: string, advice: string): boolean {
  if (found) return true;
  if (process.env['REQUIRE_ALL']) throw new Error(`REQUIRE_ALL is set, but ${what} cannot run. ${advice}`);
  process.stderr.write(`SKIPPED: ${what}. ${advice}\n`);
  return false;
}

/** The advice to install packages of Debian. */
export const packages = (names: string): string => `Install it: apt-get install --no-install-recommends ${names}`;
