import { databaseMutants } from './databaseMutants.js';

export interface Mutant {
  readonly name: string;
  readonly guarantee: string;
  /** The text to replace, which occurs exactly once in src, ignoring white space. Prefer names that rarely change. */
  readonly search: string;
  readonly replacement: string;
  /** Regular expressions for the paths of the tests that should fail. As few tests as necessary, to save time. */
  readonly tests: readonly string[];
}

/** Guarantees selected as a reviewer would: spread over the code, most important first. */
export const mutants: readonly Mutant[] = [
  // Tenants and permissions
  {
    name: 'tenant-guard',
    guarantee: 'A query on a table with tenants that names no tenant never reaches the database.',
    search: 'if (!named) throw',
    replacement: 'if (false) throw',
    tests: ['/tenantGuard.test'],
  },
  {
    name: 'permission-check',
    guarantee: 'A token without the permission of an operation gets 403.',
    search: '!held.has(permission)',
    replacement: 'false',
    tests: ['contract/security.test'],
  },
  {
    name: 'sandbox-only',
    guarantee: 'A live tenant cannot be simulated, regardless of the permissions of the token.',
    search: "if (caller.tenantMode !== 'sandbox') throw",
    replacement: 'if (false) throw',
    tests: ['/setClock.test'],
  },
  // Tokens
  {
    name: 'token-type',
    guarantee: 'Only a JWT of the type of access tokens is an access token.',
    search: 'header?.typ !== typ',
    replacement: 'header === undefined',
    tests: ['access/security.test'],
  },
  {
    name: 'token-expiry-while-remembered',
    guarantee: 'A cached token still expires on time.',
    search: 'now.getTime() >= exp * 1000',
    replacement: 'now.getTime() >= Infinity',
    tests: ['access/security.test'],
  },
  {
    name: 'token-revocation',
    guarantee: 'Revoked tokens are refused.',
    search: 'return issued_after < ',
    replacement: 'return issued_after > ',
    tests: ['/refreshTokens.test'],
  },
  {
    name: 'signing-key-rotation',
    guarantee: 'Tokens of the previous key stay valid after a rotation of the signing key.',
    search: 'LIVE_KEYS = 2',
    replacement: 'LIVE_KEYS = 1',
    tests: ['/signingKeys.test'],
  },
  // Idempotency
  {
    name: 'idempotency-fingerprint',
    guarantee: 'A key that was used with another body is rejected.',
    search: "canonicalize(body) ?? ''",
    replacement: "''",
    tests: ['contract/idempotency.test'],
  },
  {
    name: 'idempotency-replay',
    guarantee: 'A request repeated with its key is not executed again.',
    search: "WHERE excluded.created_at - idempotency_key.created_at > interval '24 hours'",
    replacement: 'WHERE true',
    tests: ['contract/idempotency.test'],
  },
  {
    name: 'transaction-rollback',
    guarantee: 'A request that fails at its last step leaves nothing behind.',
    search: 'begun = connection.query(begin);',
    replacement: 'begun = Promise.resolve();',
    tests: ['/hotStatements.test'],
  },
  // Money
  {
    name: 'free-shipping',
    guarantee: 'FREE_SHIPPING costs nothing, regardless of its amount.',
    search: "shippingType === 'FLAT_RATE' ?",
    replacement: 'true ?',
    tests: ['/createdEncounter.test'],
  },
  {
    name: 'payment-above-balance',
    guarantee: 'A payment above the balance is rejected.',
    search: 'balanceOf(order).lessThan(amount)',
    replacement: 'false',
    tests: ['/recordPayment.test'],
  },
  // The life of an encounter
  {
    name: 'claim-lease',
    guarantee: 'A claim ends with its lease, even before a sweep runs.',
    search: 'now >= leaseExpiresAt',
    replacement: 'now > leaseExpiresAt',
    tests: ['/claimEncounter.test'],
  },
  {
    name: 'wrong-reviewer',
    guarantee: 'Only the provider that holds an encounter decides it.',
    search: 'encounter.reviewerRef === reviewerRef',
    replacement: 'encounter.reviewerRef !== null',
    tests: ['/releaseEncounter.test'],
  },
  {
    name: 'final-state',
    guarantee: 'A completed encounter cannot be cancelled.',
    search: "revoke: { to: 'completed', by: ['provider'] },",
    replacement:
      "revoke: { to: 'completed', by: ['provider'] }, cancel: { to: 'cancelled', by: ['partner', 'provider'] },",
    tests: ['/cancelEncounter.test'],
  },
  {
    name: 'reuse-of-prescriptions',
    guarantee: 'An approval never clears a prescription a second time.',
    search: 'rx !== null',
    replacement: 'rx === undefined',
    tests: ['/gfeReuse.test'],
  },
  {
    name: 'sweep-by-tenant-clock',
    guarantee: "Sweeps use the tenant's clock.",
    search: 'aheadOf(transaction.now, Number(clockOffsetMs))',
    replacement: 'transaction.now',
    tests: ['/encounterDeadlines.test'],
  },
  // Input
  {
    name: 'e-mail-case',
    guarantee: 'An e-mail finds its patient in any case.',
    search: '=> email.toLowerCase()',
    replacement: '=> email',
    tests: ['/findPatients.test'],
  },
  {
    name: 'search-escaping',
    guarantee: 'Percent sign and underscore stand for themselves in a search.',
    search: String.raw`.replaceAll(/[\\%_]/g, '\\$&')`,
    replacement: '',
    tests: ['/search.test'],
  },
  {
    name: 'daylight-saving-gap',
    guarantee: 'A local time that the clocks skip is rejected.',
    search: '!resolved.toPlainDateTime().equals(wall)',
    replacement: 'false',
    tests: ['unit/schedule.test'],
  },
  {
    name: 'page-from-the-end',
    guarantee: 'A page counted from the end begins with the right row.',
    search: 'OFFSET greatest(total - ${offset}::int - ${limit}::int, 0)) AS far',
    replacement: 'OFFSET greatest(total - ${offset}::int - ${limit}::int + 1, 0)) AS far',
    tests: ['/catalog/pages.test'],
  },
  {
    name: 'catalog-all-or-nothing',
    guarantee: 'A catalog import that breaks off leaves no row.',
    search: 'inTransaction(context, (transaction) => writeCatalog(transaction,',
    replacement:
      '((_: object, run: Function, _limit: number) => run(context))(context, (transaction: typeof context) =>' +
      ' writeCatalog(transaction,',
    tests: ['/catalogRefusal.test'],
  },
  // Documents
  {
    name: 'magic-bytes',
    guarantee: 'The content determines the type of a document, not the header of its server.',
    search: 'allowed === evidence.sniffedType',
    replacement: 'allowed === (evidence.declaredType ?? evidence.sniffedType)',
    tests: ['/documentFiles.test'],
  },
  {
    name: 'dns-pin',
    guarantee: 'A document is fetched from the checked addresses; no name is resolved twice.',
    search: 'requestOnce(url, request, addresses, options, deadline)',
    replacement: 'requestOnce(url, request, family === 0 ? await lookup(host, signal) : addresses, options, deadline)',
    tests: ['/downloadForbidden.test'],
  },
  {
    name: 'orphan-age',
    guarantee: 'An object younger than a day is not removed: its upload may be in progress.',
    search: 'modifiedAt < before &&',
    replacement: '',
    tests: ['/orphanedObjects.test'],
  },
  // Events
  {
    name: 'missed-events',
    guarantee: 'A reader whose next events were purged gets an error.',
    search: 'if (after + 1n < next)',
    replacement: 'if (false)',
    tests: ['/listEvents.test'],
  },
  {
    name: 'events-of-failed-rows',
    guarantee: 'A failed row of a sweep leaves no event.',
    search: 'workOff({ ...local, events }, row)',
    replacement: 'workOff(local, row)',
    tests: ['/eventsLast.test'],
  },
  // HTTP
  {
    name: 'error-without-values',
    guarantee: 'A rejection never repeats an unknown name, which may be health data.',
    search: 'PROPERTY_NAME.test(name)',
    replacement: 'true',
    tests: ['http/privacy.test'],
  },
  {
    name: 'log-privacy',
    guarantee: 'The log of requests has the path template, never the URL.',
    search: 'route: route?.path ?? null',
    replacement: 'route: req.originalUrl',
    tests: ['http/privacy.test'],
  },
  {
    name: 'body-limit',
    guarantee: 'A body of more than 256 KiB gets 413 from every operation.',
    search: 'BODY_LIMIT = 256 * 1024',
    replacement: 'BODY_LIMIT = 512 * 1024',
    tests: ['/hostileBodies.test'],
  },
  {
    name: 'slow-connections',
    guarantee: 'A request that takes more than 15 s to arrive is rejected.',
    search: 'requestTimeout: 15_000',
    replacement: 'requestTimeout: 150_000',
    tests: ['/slowConnections.test'],
  },
  {
    name: 'response-check-in-sandboxes',
    guarantee: 'A response that breaks the contract is never sent to a sandbox, regardless of VALIDATE_RESPONSES.',
    search: "else if (caller?.tenantMode === 'sandbox') endpoint.checkResponse(sampled(result));",
    replacement: '',
    tests: ['/privacy.test', '/answers.test'],
  },
  ...databaseMutants,
];
