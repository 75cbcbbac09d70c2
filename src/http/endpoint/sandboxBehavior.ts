import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Caller } from '../../context.js';
import type { ProblemCode } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import type { DocumentedProblems, Endpoint } from './endpoint.js';
import type { Behavior, Locals } from './route.js';
import type { Alternatives } from './security.js';
import { countByTenant } from './tenantLimiter.js';

/** The header's name in lower case, as Node gives it. */
const HEADER = 'sandbox-behavior';
const MAX_DELAY_MS = 30_000;
/** Maximum of concurrent delays for one tenant: each occupies a socket, and memory for its body. */
const MAX_DELAYED = 100;

type Asked = Pick<Endpoint, 'problems' | 'permissions'>;

/**
 * The behavior that a request's header asks for; undefined without the header.
 * @throws Problem validation_failed if the tenant is live, the delay out of range, or the operation lacks that problem
 */
function behaviorOf(
  { [HEADER]: given }: IncomingHttpHeaders,
  { tenantMode }: Caller,
  { problems, permissions }: Asked,
): Behavior | undefined {
  if (given === undefined) return undefined;
  if (tenantMode !== 'sandbox')
    throw headerProblem('sandbox_only', 'works in sandbox tenants only: send the request without it');
  // The contract's pattern has checked the form.
  const directives = String(given)
    .split(',')
    .map((directive) => directive.trim().split('='));
  const { delay = '0', error } = Object.fromEntries(directives) as Readonly<Record<string, string>>;
  if (!/^\d{1,5}$/.test(delay) || Number(delay) > MAX_DELAY_MS) {
    throw headerProblem('range', `delay must be a number of milliseconds from 0 to ${MAX_DELAY_MS}`);
  }
  const problem = error === undefined ? null : problemOf(error, problems, permissions ?? []);
  return { delayMs: Number(delay), problem };
}

/** Creates the problem with the members that the operation would send. @throws Problem validation_failed */
function problemOf(code: string, documented: DocumentedProblems, permissions: Alternatives): Problem {
  if (!Object.hasOwn(documented, code)) {
    throw headerProblem('enum', `error must be one that this operation has: ${Object.keys(documented).join(', ')}`);
  }
  const { errors = [], ...extra } = documented[code] as { readonly errors?: readonly FieldError[] };
  const scope = code === 'insufficient_permission' ? { scope: permissions.flat().join(' ') } : {};
  return new Problem(code as ProblemCode, undefined, { errors, extra, ...scope });
}

/** Delays a request, then throws the problem that it asks for; the request has no slot or database connection yet. */
export function sandboxBehavior() {
  const delayed = countByTenant();
  return async (headers: IncomingHttpHeaders, caller: Caller, asked: Asked, locals: Locals): Promise<void> => {
    const behavior = behaviorOf(headers, caller, asked);
    if (!behavior) return;
    const { delayMs, problem } = behavior;
    try {
      if (delayed.add(caller.tenantId, 1) > MAX_DELAYED) {
        throw new Problem(
          'dependency_unavailable',
          `Your tenant already delays ${MAX_DELAYED} requests. Retry after the seconds in Retry-After.`,
        );
      }
      locals.behavior = behavior;
      if (delayMs > 0) await pause(delayMs);
    } finally {
      delayed.add(caller.tenantId, -1);
    }
    if (problem?.code === 'rate_limited' && locals.usage) locals.usage = { ...locals.usage, remaining: 0 };
    if (problem) throw problem;
  };
}

const headerProblem = (code: string, detail: string): Problem =>
  new Problem('validation_failed', undefined, { errors: [{ parameter: HEADER, code, detail }] });
