import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { createDocumentScanner } from '../adapters/scanner/createDocumentScanner.js';
import { openLimits } from '../adapters/limits/openLimits.js';
import { createDownloader } from '../adapters/download/download.js';
import { targetRule } from '../adapters/download/targetRule.js';
import { openObjectStore } from '../adapters/objects/openObjectStore.js';
import { openPdfRenderer } from '../adapters/pdf/pdfRenderer.js';
import { openSigningKeys } from '../adapters/tokens/signingKeys.js';
import { openTokens } from '../adapters/tokens/tokens.js';
import { createWebhookSender } from '../adapters/webhooks/httpSender.js';
import type { Config } from '../config.js';
import type { DomainContext, Services } from '../context.js';
import { openAuditLog } from '../domain/audit/auditLog.js';
import { ATTEMPT_TIMEOUT } from '../domain/webhooks/retries.js';
import { reasonOf } from '../failures.js';
import { countedDownloads, countedStore } from './countedOutcomes.js';
import { partsCheck } from './readiness.js';

/** What main or a test decides; a test also brings its own clock. */
interface ServiceOptions {
  readonly config: Config;
  readonly domain: DomainContext;
  /** Where `domain.db` is connected to. */
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Known once the server listens. */
  readonly baseUrl: () => string;
  readonly isStopping: () => boolean;
  readonly wakeDeliveries: () => void;
}

/** Opens what the operations need besides the database. @throws Error naming the file or the variable that is wrong */
export async function openServices(options: ServiceOptions): Promise<Services> {
  const { config, domain, databaseUrl, log, baseUrl, isStopping, wakeDeliveries } = options;
  const { now, newId } = domain;
  const create = config.createSigningKeys ? { now: now(), newId } : null;
  const keys = await openSigningKeys(config.signingKeysFile, create, (error) => {
    log.error({ reason: reasonOf(error) }, 'the signing keys are damaged; those that were read before are used');
  }).catch((cause: unknown) => {
    throw new Error(`SIGNING_KEYS_FILE cannot be used: ${reasonOf(cause)}`, { cause });
  });
  const scanner = createDocumentScanner(config.documentScanner);
  // Uploads need it, nothing else does: that it is down for the moment must not keep the service from starting.
  await scanner.check().catch((error: unknown) => {
    log.warn({ reason: reasonOf(error) }, 'the scanner at CLAMAV_ADDRESS does not answer; uploads fail until it does');
  });
  const objects = countedStore(await openObjectStore({ dataDir: config.dataDir, baseUrl, store: config.objectStore }));
  const services = {
    ...domain,
    config,
    log,
    keys,
    tokens: openTokens(keys, baseUrl, newId),
    objects,
    scanner,
    checkParts: partsCheck(databaseUrl, { objects, scanner, config }),
    limits: config.rateLimit && (await openLimits(config.rateLimit.quotas, config.rateLimit.redisUrl, log)),
    download: countedDownloads(createDownloader({ allowedHosts: config.documentFetchAllowedHosts })),
    sendWebhook: createWebhookSender({ allowedHosts: config.webhookAllowedHosts, timeout: ATTEMPT_TIMEOUT }),
    isWebhookTarget: targetRule(config.webhookAllowedHosts, 'WEBHOOK_ALLOWED_HOSTS'),
    renderPdf: openPdfRenderer(),
    get baseUrl() {
      return baseUrl();
    },
    newRequestId: () => randomUUID(),
    isStopping,
    wakeDeliveries,
  };
  // It asks for `db` at each row: a spread here would ask for the base URL before it is known.
  return Object.assign(services, { auditLog: openAuditLog(services) });
}
