import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { createDocumentScanner } from '../adapters/scanner/createDocumentScanner.js';
import { openLimits } from '../adapters/limits/openLimits.js';
import { createDownloader } from '../adapters/download/download.js';
import { targetRule } from '../adapters/download/addressRules.js';
import { createFileLinks } from '../adapters/objects/fileLinks.js';
import { openObjectStore } from '../adapters/objects/openObjectStore.js';
import { FONT_SAMPLE, openPdfRenderer } from '../adapters/pdf/pdfRenderer.js';
import { openSigningKeys } from '../adapters/tokens/signingKeys.js';
import { openTokens } from '../adapters/tokens/tokens.js';
import { createWebhookSender } from '../adapters/webhooks/httpSender.js';
import type { Config } from '../config.js';
import type { DomainContext, Services } from '../context.js';
import { addKnown, areKnown } from '../domain/access/knownKeys.js';
import { auditRecorder } from '../domain/audit/recorder.js';
import { ATTEMPT_TIMEOUT } from '../domain/webhooks/retries.js';
import { errorCode, reasonOf } from '../failures.js';
import { countedDownloads, countedStore } from './countedOutcomes.js';
import { databaseCheck } from './readiness.js';

/** Values that are known, or change, only after the services have been opened. */
export interface ServiceState {
  /** The public address; known after listening. */
  baseUrl: string;
  /** From the end of the start until the shutdown. */
  isServing: boolean;
  wakeDeliveries: () => void;
}

/** Options that the program or a test chooses; only tests set the clock. */
interface ServiceOptions {
  readonly config: Config;
  readonly domain: DomainContext;
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly state: ServiceState;
}

/** Opens everything except the database. @throws Error naming the wrong file or variable */
export async function openServices(options: ServiceOptions): Promise<Services> {
  const { config, domain, databaseUrl, log, state } = options;
  const { now, newId } = domain;
  const baseUrl = (): string => state.baseUrl;
  const create = config.createSigningKeys ? { now: now(), newId } : null;
  const keys = await openSigningKeys(config.signingKeysFile, create, (error) => {
    log.error(
      { reason: reasonOf(error) },
      'SIGNING_KEYS_FILE is damaged or unreadable: repair it before a restart; until then, this server keeps the keys that it read before',
    );
  }).catch((cause: unknown) => {
    const remedy =
      '. Correct that, copy the file of another server, or create the first one with "scripts/ces keys rotate".';
    // An error of the system has a code; an error of the content has its own remedy.
    const advice = errorCode(cause) === undefined ? '.' : remedy;
    throw new Error(`SIGNING_KEYS_FILE cannot be used: ${reasonOf(cause)}${advice}`, { cause });
  });
  const { dataDir, objectStore: store } = config;
  const objects = countedStore(await openObjectStore({ dataDir, store, links: createFileLinks(keys, baseUrl) }));
  const renderPdf = openPdfRenderer(config.pdfFallbackFont);
  if (config.pdfFallbackFont !== null) {
    await renderPdf(FONT_SAMPLE).catch((cause: unknown) => {
      throw new Error(
        `PDF_FALLBACK_FONT cannot be used: ${reasonOf(cause)}. Set a readable TrueType or OpenType font, or file#PostScript name of a collection.`,
        { cause },
      );
    });
  }
  return {
    ...domain,
    config,
    log,
    keys,
    tokens: openTokens(keys, baseUrl, newId),
    objects,
    scanner: createDocumentScanner(config.documentScanner),
    hasDatabase: databaseCheck(databaseUrl),
    limits: config.rateLimit && (await openLimits(config.rateLimit.quotas, config.rateLimit.redisUrl, log)),
    download: countedDownloads(createDownloader({ allowedHosts: config.documentFetchAllowedHosts })),
    sendWebhook: createWebhookSender({ allowedHosts: config.webhookAllowedHosts, timeout: ATTEMPT_TIMEOUT }),
    isWebhookTarget: targetRule(config.webhookAllowedHosts, 'WEBHOOK_ALLOWED_HOSTS'),
    renderPdf,
    get baseUrl() {
      return state.baseUrl;
    },
    newRequestId: () => randomUUID(),
    isServing: () => state.isServing,
    wakeDeliveries: () => state.wakeDeliveries(),
    recordAudit: auditRecorder(domain),
  };
}

/** Records the signing keys. If the database knows only others, warns: this server rejects other servers' tokens. */
export async function recordKeys(services: Services): Promise<void> {
  const keys = await services.keys.current();
  if (await areKnown(services, keys)) return addKnown(services, keys);
  const { signingKeysFile } = services.config;
  services.log.warn(
    { signingKeysFile },
    'SIGNING_KEYS_FILE has none of the keys of this installation: this server rejects tokens that they signed, and servers with those keys reject its tokens; see "scripts/ces doctor"',
  );
}
