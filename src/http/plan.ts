import type { OpenAPIBackend, Operation as ContractOperation } from 'openapi-backend';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { LimitName } from '../adapters/limits/limits.js';
import type { Context, PublicContext } from '../context.js';
import type { OperationId, Permission } from '../contract.js';
import { auditRule, type AuditRule } from './auditRule.js';
import { KEY_HEADER } from './idempotencyKey.js';
import { parameterReader, type ReadParameters } from './parameters.js';
import { assertResponse, type Answer } from './responseCheck.js';
import type { Alternatives } from './security.js';
import { validationProblem } from './validationFaults.js';
import { nullsOf } from './withoutNulls.js';

/** An operation of `src/operations` without its types. */
export type Run = (input: object, context: PublicContext | Context) => Promise<Answer>;

/** The problems of an operation by code, each with what its example has besides the members that all problems have. */
export type DocumentedProblems = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What the contract says about one operation and its requests, made ready once at the start. */
export interface Plan {
  readonly operationId: OperationId;
  /** Path template. */
  readonly path: string;
  readonly method: string;
  /** The permissions that a caller needs; null = anybody may call. */
  readonly permissions: Alternatives | null;
  /** The limit that its requests count against. */
  readonly limit: LimitName;
  /** Of the body; null = there is none. */
  readonly mediaTypes: readonly string[] | null;
  readonly takesKey: boolean;
  /** What the audit says of its requests; null = nothing. */
  readonly audit: AuditRule | null;
  /** Whether it may change the time of a sandbox. */
  readonly mayMoveClock: boolean;
  /** Those that a sandbox can ask for. */
  readonly problems: DocumentedProblems;
  readonly readParameters: ReadParameters;
  /** Leaves out optional members that are null, then validates. @throws Problem */
  checkBody(body: unknown): void;
  /** @throws Error */
  checkResponse(answer: Answer): void;
  readonly run: Run;
}

/** Makes the plan of an operation, with openapi-backend's validators. */
export function planOf({ validator }: OpenAPIBackend, operation: ContractOperation, run: Run): Plan {
  const { operationId = '', path, method, security = [], parameters = [] } = operation;
  const { 'x-problems': problems = {} } = operation as ContractOperation & { 'x-problems'?: DocumentedProblems };
  const { requestBody, responses = {} } = operation as ContractOperation<OpenAPIV3_1.Document>;
  // The body's, if there is one, and the parameters'.
  const [checkParameters, checkBody] = validator.getRequestValidatorsForOperation(operationId).toReversed();
  const checksByStatus = validator.getStatusBasedResponseValidatorForOperation(operationId);
  if (!checkParameters) throw new Error(`${operationId} has no validator`);
  const leaveOutNulls = nullsOf(operation);
  const permissions = security.map((requirement) => Object.values(requirement).flat());
  return {
    operationId: operationId as OperationId,
    path,
    method,
    permissions: permissions.length > 0 ? permissions : null,
    limit: limitOf(operation),
    mediaTypes: requestBody && 'content' in requestBody ? Object.keys(requestBody.content) : null,
    takesKey: parameters.some((parameter) => 'name' in parameter && parameter.name === KEY_HEADER),
    audit: auditRule(operation),
    mayMoveClock: permissions.flat().includes('sandbox:simulate' satisfies Permission),
    problems,
    readParameters: parameterReader(parameters, checkParameters),
    checkBody(body) {
      leaveOutNulls(body);
      if (checkBody && !checkBody({ requestBody: body })) throw validationProblem(checkBody.errors ?? []);
    },
    checkResponse: (answer) => assertResponse(operationId, responses, checksByStatus, answer),
    run,
  };
}

/** The limits that an operation of the contract can name. */
const limitNames = ['default', 'uploads', 'bulk', 'token'] as const satisfies LimitName[];

/** @throws Error for one that it cannot name */
function limitOf({ operationId, 'x-rate-limit': named = 'default' }: ContractOperation & { 'x-rate-limit'?: string }) {
  const limit = limitNames.find((name) => name === named);
  if (!limit) throw new Error(`${operationId} has the unknown x-rate-limit ${named}`);
  return limit;
}
