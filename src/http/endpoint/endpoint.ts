import { OpenAPIBackend, type Operation as ContractOperation } from 'openapi-backend';
import type { LimitName } from '../../adapters/limits/limits.js';
import type { Context, PublicContext } from '../../context.js';
import type { OperationId, Permission } from '../../contract.js';
import type { Operations } from '../../operations/operation.js';
import { auditRule, type AuditRule } from './audit.js';
import { readContract } from '../pages/contractDocument.js';
import { KEY_HEADER, parameterReader, type Parameter, type ReadParameters } from './parameters.js';
import type { Alternatives } from './security.js';
import {
  deleteNulls,
  validateRequest,
  validateResponse,
  type Answer,
  type BodySchema,
  type DeclaredResponses,
} from './validation.js';

/** The function of any operation in `src/operations`, without its specific types. */
type Run = (input: object, context: PublicContext | Context) => Promise<Answer>;

/** The problems that an operation documents, by code, each with the additional members of its example. */
export type DocumentedProblems = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** One operation: its contract, prepared at the start, and the function that runs it. */
export interface Endpoint {
  readonly operationId: OperationId;
  /** The template of the path. */
  readonly path: string;
  readonly method: string;
  /** Null = public. */
  readonly permissions: Alternatives | null;
  readonly limit: LimitName;
  /** The media types that the body may have; null = the operation has no body. */
  readonly mediaTypes: readonly string[] | null;
  readonly takesKey: boolean;
  /** Null = the audit does not record its requests. */
  readonly audit: AuditRule | null;
  /** False = the operation cannot change the time of a sandbox. */
  readonly mayMoveClock: boolean;
  /** Problems that a sandbox may ask for instead of the operation's result. */
  readonly problems: DocumentedProblems;
  readonly readParameters: ReadParameters;
  /** Validates the body, without optional members that are null unless it is a merge patch. @throws Problem */
  checkBody(body: unknown): void;
  /** Compares a response with the contract. @throws Error if it differs */
  checkResponse(answer: Answer): void;
  readonly run: Run;
}

interface DeclaredOperation extends Pick<ContractOperation, 'operationId' | 'path' | 'method' | 'security'> {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: BodySchema }>> };
  readonly responses: DeclaredResponses;
  readonly 'x-problems'?: DocumentedProblems;
  readonly 'x-rate-limit'?: string;
}

/** Connects operations with the contract. @throws Error if one is missing in code or contract, or declared wrongly */
export async function endpointsOf(operations: Operations): Promise<Endpoint[]> {
  // This cast is safe: `Operations` guarantees the input and output types of each operation.
  const handlers = operations as Readonly<Record<string, Run>>;
  // `quick` skips a check of the document that supports only OpenAPI 3.0; `make lint` checks ours.
  const api = new OpenAPIBackend({ definition: readContract(), quick: true, strict: true, validate: false, handlers });
  await api.init();
  return api.getOperations().map((operation) => {
    const run = api.handlers[operation.operationId ?? ''] as Run | undefined;
    if (!run)
      throw new Error(
        `src/operations/index.ts does not export ${operation.operationId} of the contract: add it there.`,
      );
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
    checkResponse: (answer) => validateResponse(operationId, responses, answer),
    run,
  };
}

function bodyCheck(content: NonNullable<DeclaredOperation['requestBody']>['content']): Endpoint['checkBody'] {
  const json = content['application/json']?.schema ?? {};
  const schema = { type: 'object', properties: { body: json }, required: ['body'] };
  // Keep nulls in a merge patch, where null clears a field (RFC 7396).
  const keepsNulls = 'application/merge-patch+json' in content;
  return (body) => {
    if (!keepsNulls) deleteNulls(body, json);
    validateRequest(schema, { body });
  };
}

const limitNames = ['default', 'uploads', 'bulk', 'token'] as const satisfies LimitName[];

/** The name of an operation's limit. @throws Error for an unknown one */
function limitOf({ operationId, 'x-rate-limit': limitName = 'default' }: DeclaredOperation): LimitName {
  const limit = limitNames.find((name) => name === limitName);
  if (!limit) throw new Error(`The x-rate-limit of ${operationId} must be one of ${limitNames.join(', ')}.`);
  return limit;
}
