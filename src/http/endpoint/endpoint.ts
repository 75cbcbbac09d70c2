import { OpenAPIBackend, type Operation as ContractOperation } from 'openapi-backend';
import type { LimitName } from '../../adapters/limits/limits.js';
import type { Context, PublicContext } from '../../context.js';
import type { OperationId, Permission } from '../../contract.js';
import type { Operations } from '../../operations/operation.js';
import { auditRule, type AuditRule } from './auditRule.js';
import { readContract } from '../pages/contractDocument.js';
import { KEY_HEADER } from './idempotencyKey.js';
import { parameterReader, type Parameter, type ReadParameters } from './parameters.js';
import { assertResponse, type Answer, type DeclaredResponses } from './responseCheck.js';
import type { Alternatives } from './security.js';
import { validationProblem } from './validationProblem.js';
import { requestValidator } from './validators.js';
import { deleteNulls, type BodySchema } from './withoutNulls.js';

/** An operation of `src/operations` without its types. */
type Run = (input: object, context: PublicContext | Context) => Promise<Answer>;

/** The problems of an operation by code, with the members of their examples that not every problem has. */
export type DocumentedProblems = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The contract of one operation, prepared at the start, and the code that runs it. */
export interface Endpoint {
  readonly operationId: OperationId;
  /** Path template. */
  readonly path: string;
  readonly method: string;
  /** The permissions that a caller needs; null = public. */
  readonly permissions: Alternatives | null;
  /** The limit that its requests count against. */
  readonly limit: LimitName;
  /** Of the body; null = no body. */
  readonly mediaTypes: readonly string[] | null;
  readonly takesKey: boolean;
  /** How the audit records its requests; null = not at all. */
  readonly audit: AuditRule | null;
  /** Whether it may change the time of a sandbox. */
  readonly mayMoveClock: boolean;
  /** Those that a sandbox can request. */
  readonly problems: DocumentedProblems;
  readonly readParameters: ReadParameters;
  /** Deletes optional members that are null, then validates. @throws Problem */
  checkBody(body: unknown): void;
  /** @throws Error */
  checkResponse(answer: Answer): void;
  readonly run: Run;
}

/** The parts of an operation of the contract that an endpoint is made from. */
interface DeclaredOperation extends Pick<ContractOperation, 'operationId' | 'path' | 'method' | 'security'> {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: BodySchema }>> };
  readonly responses: DeclaredResponses;
  readonly 'x-problems'?: DocumentedProblems;
  readonly 'x-rate-limit'?: string;
}

/** Binds the code to the contract. @throws Error if an operation of one is missing in the other */
export async function endpointsOf(operations: Operations): Promise<Endpoint[]> {
  // The one cast: from here on `Operations` guarantees what each operation gets and returns.
  const handlers = operations as Readonly<Record<string, Run>>;
  // Its check of the document knows OpenAPI 3.0 only, hence `quick`; `make lint` checks ours.
  const api = new OpenAPIBackend({ definition: readContract(), quick: true, strict: true, validate: false, handlers });
  await api.init();
  return api.getOperations().map((operation) => {
    const run = api.handlers[operation.operationId ?? ''] as Run | undefined;
    if (!run) throw new Error(`No code for the operation ${operation.operationId}.`);
    return endpointOf(operation as DeclaredOperation, run);
  });
}

function endpointOf(operation: DeclaredOperation, run: Run): Endpoint {
  const { path, method, security = [], parameters, requestBody, responses, 'x-problems': problems = {} } = operation;
  const operationId = operation.operationId as OperationId;
  const permissions = security.map((requirement) => Object.values(requirement).flat());
  return {
    operationId,
    path,
    method,
    permissions: permissions.length > 0 ? permissions : null,
    limit: limitOf(operation),
    mediaTypes: requestBody ? Object.keys(requestBody.content) : null,
    takesKey: parameters.some(({ name }) => name === KEY_HEADER),
    audit: auditRule(operation as ContractOperation),
    mayMoveClock: permissions.flat().includes('sandbox:simulate' satisfies Permission),
    problems,
    readParameters: parameterReader(parameters),
    checkBody: requestBody ? bodyCheck(requestBody.content) : () => undefined,
    checkResponse: (answer) => assertResponse(operationId, responses, answer),
    run,
  };
}

function bodyCheck(content: NonNullable<DeclaredOperation['requestBody']>['content']): Endpoint['checkBody'] {
  const json = content['application/json']?.schema ?? {};
  const schema = { type: 'object', properties: { body: json }, required: ['body'] };
  // In a merge patch null clears a field (RFC 7396).
  const keepsNulls = 'application/merge-patch+json' in content;
  return (body) => {
    if (!keepsNulls) deleteNulls(body, json);
    if (!requestValidator.validate(schema, { body })) throw validationProblem(requestValidator.errors ?? []);
  };
}

/** The limits that an operation of the contract can name. */
const limitNames = ['default', 'uploads', 'bulk', 'token'] as const satisfies LimitName[];

/** @throws Error for an unknown limit */
function limitOf({ operationId, 'x-rate-limit': named = 'default' }: DeclaredOperation): LimitName {
  const limit = limitNames.find((name) => name === named);
  if (!limit) throw new Error(`${operationId} has the unknown x-rate-limit ${named}`);
  return limit;
}
