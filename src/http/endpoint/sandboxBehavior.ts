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
/** Maximum of concurrent delays for one tenant: each occupies a connection, and memory for its body. */
const MAX_DELAYED = 100;

/**
 * The behavior that a request's header asks for; undefined without the header.
 * @throws Problem validation_failed if the tenant is live, the header is malformed, or the operation lacks that problem
 */
export function behaviorOf(
  { [HEADER]: given }: IncomingHttpHeaders,
  { tenantMode }: Caller,
  { problems, permissions }: Pick<Endpoint, 'problems' | 'permissions'>,
): Behavior | undefined {
  if (given === undefined) return undefined;
  if (tenantMode !== 'sandbox')
    throw headerProblem('sandbox_only', 'works in sandbox tenants only: send the request without it');
  const { delay = '0', error } = directivesOf(String(given));
  if (!/^\d{1,5}$/.test(delay) || Number(delay) > MAX_DELAY_MS) {
    throw headerProblem('range', `delay must be a number of milliseconds from 0 to ${MAX_DELAY_MS}`);
  }
  const problem = error === undefined ? null : problemOf(error, problems, permissions ?? []);
  return { delayMs: Number(delay), problem };
}

/** Parses the header. @throws Problem validation_failed if it is malformed */
function directivesOf(text: string): Readonly<Record<string, string>> {
  const directives: Record<string, string> = {};
  for (const directive of text.split(',')) {
    const [, name, value] = /^(delay|error)=(\w+)$/.exec(directive.trim()) ?? [];
    if (name === undefined || value === undefined || name in directives) {
      throw headerProblem(
        'format',
        'must be error=<problem code>, delay=<milliseconds>, or both with a comma between them',
      );
    }
    directives[name] = value;
  }
  return directives;
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

/** Delays a request, then throws the problem that it asks for; the request has no slot or connection yet. */
export function sandboxBehavior() {
  const delayed = countByTenant();
  return async (behavior: Behavior, { tenantId }: Caller, locals: Locals): Promise<void> => {
    const { delayMs, problem } = behavior;
    try {
      if (delayed.add(tenantId, 1) > MAX_DELAYED) {
        throw new Problem(
          'dependency_unavailable',
          `A tenant may delay ${MAX_DELAYED} requests at the same time. Retry after the given delay.`,
        );
      }
      locals.behavior = behavior;
      if (delayMs > 0) await pause(delayMs);
    } finally {
      delayed.add(tenantId, -1);
    }
    if (problem?.code === 'rate_limited' && locals.usage) locals.usage = { ...locals.usage, remaining: 0 };
    if (problem) throw problem;
  };
}

const headerProblem = (code: string, detail: string): Problem =>
  new Problem('validation_failed', undefined, { errors: [{ parameter: HEADER, code, detail }] });
