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

/** Which parts of the service respond; null = not in use. */
export interface Parts {
  readonly database: boolean;
  readonly objectStore: boolean;
  readonly documentScanner: boolean | null;
  /** Whether there is space on it. */
  readonly disk: boolean | null;
}

/** What every rule of the domain may use: data, time, ids and randomness. The operator's program has just this. */
export interface DomainContext {
  readonly db: Database;
  readonly now: () => Date;
  /** A UUID of version 7 (RFC 9562), so that keys grow with time. */
  readonly newId: () => string;
  readonly randomBytes: (size: number) => Buffer;
}

/** Everything that lives as long as the process. */
export interface Services extends DomainContext {
  readonly config: Config;
  readonly objects: ObjectStore;
  readonly scanner: DocumentScanner;
  readonly download: Downloader;
  readonly sendWebhook: WebhookSender;
  /** Whether webhooks may go to a URL, as far as that can be said without DNS. */
  readonly isWebhookTarget: (url: string) => boolean;
  readonly renderPdf: PdfRenderer;
  /** Null = off. */
  readonly limits: Limits | null;
  readonly keys: SigningKeys;
  readonly tokens: Tokens;
  /** Whether the database, the object store and the scanner answer, at most a second ago. */
  readonly checkParts: () => Promise<Parts>;
  /** The service's public address without a final slash; known once the server listens. */
  readonly baseUrl: string;
  readonly log: Logger;
  /** A UUID of no order, which is cheaper than one of version 7. */
  readonly newRequestId: () => string;
  /** Whether the process has been told to stop: it serves what it has and takes no more. */
  readonly isStopping: () => boolean;
  /** Wakes the webhook deliveries: a transaction with events has committed. */
  readonly wakeDeliveries: () => void;
  readonly auditLog: AuditLog;
}

/** A row of the audit: ids and codes, never values or names. */
export interface AuditRow {
  readonly at: Date;
  /** Null where none is concerned: a command of the operator. */
  readonly tenantId: string | null;
  /** OAuth `client_id`. */
  readonly clientId: string | null;
  /** Who ran a command, and where. */
  readonly operator: string | null;
  readonly operationId: string;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  readonly patientId: string | null;
  readonly status: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly ip: string | null;
  /** Unknown: of a commit that PostgreSQL did not answer. If it stands, there is a second row that says success. */
  readonly outcome: 'success' | 'refused' | 'failed' | 'unknown';
  /** The provider that asked for a chart. */
  readonly reviewerRef: string | null;
  /** How many requests it stands for; null: one. */
  readonly count: number | null;
}

/** Where the rows of requests are recorded. */
export interface AuditLog {
  /** Resolves when the row is committed, or counted for one that is written later. @throws Problem dependency_unavailable */
  record(row: AuditRow): Promise<void>;
  /** Before the process ends. Never rejects. */
  close(): Promise<void>;
}

/** What the audit takes from a response. */
interface AuditedResponse {
  readonly status: number;
  readonly code?: string;
  readonly body?: unknown;
  readonly isUnknown?: boolean;
}

/** What the audit will say of a request. Who learns whom it concerns notes that here. */
export interface RequestAudit {
  tenantId: string | null;
  /** Null: no API client is known, and there is nothing to record. */
  clientId: string | null;
  /** Where neither the request nor the response names the patient. */
  patientId: string | null;
  /** Whether the transaction of the request's effect has committed the row. */
  isCommitted: boolean;
  /** The row of a response. */
  rowOf(response: AuditedResponse): AuditRow;
}

/** The limits that a request counts against; its response says what is left. */
export interface RequestLimits {
  /** Counts the request. @throws Problem rate_limited */
  count(name: LimitName, key: string, ownQuota?: number): Promise<void>;
  /** Counts nothing. @throws Problem rate_limited when the next one would be too many */
  check(name: LimitName, key: string): Promise<void>;
}

/** What an operation without security gets. */
export interface PublicContext extends Services {
  readonly requestId: string;
  readonly audit: RequestAudit;
  readonly requestLimits: RequestLimits;
  /** The request's Authorization header, for client authentication at the token endpoint (RFC 6749 §2.3.1). */
  readonly authorization: string | undefined;
}

/** What a secured operation gets. `now` is the tenant's time, which the clock of a sandbox moves. */
export interface Context extends PublicContext {
  readonly caller: Caller;
  /** Method and path template of each operation of the contract, by its name. */
  readonly routes: ReadonlyMap<string, { readonly method: string; readonly path: string }>;
  /** The time of the real world, for what is not of the domain: the expiry of links. */
  readonly realNow: () => Date;
  /** The request's Idempotency-Key; null when it has none. */
  readonly idempotency: IdempotencyRequest | null;
  /** Runs long work that needs no database, and gives the tenant's slot to another request meanwhile. */
  readonly withoutSlot: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A request that may be a retry of an earlier one. */
export interface IdempotencyRequest {
  readonly operationId: string;
  /** Without quotation marks. */
  readonly key: string;
  /** SHA-256 of path and canonical body: another request must not use the key. */
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
  /** Clinics that the client is limited to; null = every clinic of the tenant. */
  readonly allowedClinicIds: readonly string[] | null;
  /** Pharmacies whose lines of orders it sees and fulfils; null = every pharmacy. */
  readonly allowedPharmacyIds: readonly string[] | null;
}
