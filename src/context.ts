import type { Logger } from 'pino';
import type { Config } from './config.js';
import type { Permission } from './contract.js';
import type { Database } from './adapters/database/database.js';
import type { DocumentScanner } from './adapters/scanner/documentScanner.js';
import type { Downloader } from './adapters/download/downloader.js';
import type { LimitName, Limits } from './adapters/limits/limits.js';
import type { ObjectStore } from './adapters/objects/objectStore.js';
import type { PdfRenderer } from './adapters/pdf/pdfRenderer.js';
import type { SigningKeys } from './adapters/tokens/signingKeys.js';
import type { Tokens } from './adapters/tokens/tokens.js';
import type { WebhookSender } from './adapters/webhooks/sender.js';

/** Data, time, ids and randomness, for rules and the operator's commands. Some rules also take parts of `Services`. */
export interface DomainContext {
  readonly db: Database;
  readonly now: () => Date;
  /** A UUID v7 (RFC 9562), so that keys grow with time. */
  readonly newId: () => string;
  readonly randomBytes: (size: number) => Buffer;
}

/** Objects that live as long as the process. */
export interface Services extends DomainContext {
  readonly config: Config;
  readonly objects: ObjectStore;
  readonly scanner: DocumentScanner;
  readonly download: Downloader;
  readonly sendWebhook: WebhookSender;
  /** Whether webhooks may be sent to a URL, checked without DNS. */
  readonly isWebhookTarget: (url: string) => boolean;
  readonly renderPdf: PdfRenderer;
  /** Null = no limits. */
  readonly limits: Limits | null;
  readonly keys: SigningKeys;
  readonly tokens: Tokens;
  /** Whether the database answers; the result may be up to a second old. */
  readonly hasDatabase: () => Promise<boolean>;
  /** The service's public address without a final slash; known once the server listens. */
  readonly baseUrl: string;
  readonly log: Logger;
  /** A random UUID, which is cheaper than a UUID v7. */
  readonly newRequestId: () => string;
  /** Whether the start is complete and the process is not shutting down. */
  readonly isServing: () => boolean;
  /** Wakes the webhook deliveries after a transaction with events has committed. */
  readonly wakeDeliveries: () => void;
  /** Commits a row of the audit. @throws Problem dependency_unavailable if that fails */
  readonly recordAudit: (row: AuditRow) => Promise<void>;
}

/** A row of the audit, without health data and names of patients. */
export interface AuditRow {
  readonly at: Date;
  /** Null for a command of the operator that concerns no tenant. */
  readonly tenantId: string | null;
  /** OAuth `client_id`. */
  readonly clientId: string | null;
  /** User and host of a command; null for a request. */
  readonly operator: string | null;
  readonly operationId: string;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  /** The patients whom the request or its response names or is about, each once. */
  readonly patientIds: readonly string[];
  readonly status: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly ip: string | null;
  /** `unknown`: PostgreSQL did not answer the commit. If the transaction did commit, a second row says `success`. */
  readonly outcome: 'success' | 'refused' | 'failed' | 'unknown';
  /** The provider who requested a chart. */
  readonly reviewerRef: string | null;
}

/** The parts of a response that the audit reads. */
interface AuditedResponse {
  readonly status: number;
  readonly code?: string;
  readonly body?: unknown;
  readonly isUnknown?: boolean;
}

/** The audit's view of a request. Code that identifies the client or the patient records it here. */
export interface RequestAudit {
  tenantId: string | null;
  /** OAuth `client_id`; null = no API client is known, so the request is not recorded. */
  clientId: string | null;
  /** Set by operations whose response or refusal is about a patient without naming one. */
  patientId: string | null;
  /** Whether the audit row is committed, or has been sent to be. */
  isRecorded: boolean;
  rowOf(response: AuditedResponse): AuditRow;
}

/** The limits that a request counts against; its response states the remaining quota. */
export interface RequestLimits {
  /** Counts one request against a limit. @throws Problem rate_limited */
  count(name: LimitName, key: string, ownQuota?: number): Promise<void>;
  /** Checks a limit without counting. @throws Problem rate_limited if the next request would exceed it */
  check(name: LimitName, key: string): Promise<void>;
}

/** The context of an operation without security. */
export interface PublicContext extends Services {
  readonly requestId: string;
  readonly audit: RequestAudit;
  readonly requestLimits: RequestLimits;
  /** The Authorization header: an access token or, at the token endpoint, client credentials (RFC 6749 §2.3.1). */
  readonly authorization: string | undefined;
}

/** The context of a secured operation. `now` is the tenant's time, which a sandbox can move. */
export interface Context extends PublicContext {
  readonly caller: Caller;
  /** Method and path template of each operation, by `operationId`. */
  readonly routes: ReadonlyMap<string, { readonly method: string; readonly path: string }>;
  /** Real time, for technical deadlines such as the expiry of links. */
  readonly realNow: () => Date;
  /** Null = the request has no Idempotency-Key. */
  readonly idempotency: IdempotencyRequest | null;
  /** Runs long work that needs no database, and lends the tenant's slot to another request meanwhile. */
  readonly withoutSlot: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A request that may be a retry of an earlier one. */
export interface IdempotencyRequest {
  readonly operationId: string;
  /** The value of the Idempotency-Key header, without its quotation marks. */
  readonly key: string;
  /** SHA-256 of path, If-Match and canonical body: a request with another fingerprint must not use this key. */
  readonly fingerprint: Buffer;
}

/** The authenticated API client: the only source of the tenant. */
export interface Caller {
  readonly tenantId: string;
  readonly tenantMode: 'live' | 'sandbox';
  /** Internal id of the API client. */
  readonly apiClientId: string;
  /** OAuth `client_id`. */
  readonly clientId: string;
  readonly permissions: ReadonlySet<Permission>;
  /** Null = every clinic of the tenant. */
  readonly allowedClinicIds: readonly string[] | null;
  /** Pharmacies whose order lines the client sees and fulfills; null = every pharmacy. */
  readonly allowedPharmacyIds: readonly string[] | null;
}
