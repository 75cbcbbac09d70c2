import type { Mutant } from './list.js';

/** Mutants of transactions, of the records that transactions return, and of limits on both. */
export const databaseMutants: readonly Mutant[] = [
  // The database
  {
    name: 'statement-of-a-tenant',
    guarantee: 'A statement on the rows of a tenant that does not mention it never reaches the database.',
    search: "tenantId === '' || !values.includes(tenantId)",
    replacement: "tenantId === ''",
    tests: ['/hotStatements.test'],
  },
  {
    name: 'savepoint',
    guarantee: 'Failed work in a savepoint is undone, and the transaction continues.',
    search: 'ROLLBACK TO SAVEPOINT inner_work',
    replacement: 'RELEASE SAVEPOINT inner_work',
    tests: ['/hotStatements.test'],
  },
  {
    name: 'created-record',
    guarantee: 'createEncounter returns the columns that it writes.',
    search: 'version: 1,',
    replacement: 'version: 2,',
    tests: ['/createdEncounter.test'],
  },
  {
    name: 'order-parts',
    guarantee: 'An order shows its own payments.',
    search: 'payments: groupedBy(payments, orderOf),\n    refunds: groupedBy(refunds, orderOf),\n    encounters',
    replacement:
      'payments: groupedBy(refunds as never, orderOf),\n    refunds: groupedBy(refunds, orderOf),\n    encounters',
    tests: ['/recordPayment.test'],
  },
  // Code that was rewritten since 1.0.0
  {
    name: 'changed-parts',
    guarantee: 'The response of a review shows the order that it made.',
    search: 'return { gfeItems, order };',
    replacement: 'return { gfeItems };',
    tests: ['/submitReview.test'],
  },
  {
    name: 'wake-after-commit',
    guarantee: 'A commit with events wakes the webhook deliveries.',
    search: 'if (hasEvents) context.wakeDeliveries();',
    replacement: '',
    tests: ['/wakeDeliveries.test'],
  },
  {
    name: 'unknown-commit-keeps-object',
    guarantee: 'A document whose COMMIT has no answer keeps its object.',
    search: 'if (!(error instanceof UnknownOutcome)) await remove();',
    replacement: 'await remove();',
    tests: ['tests/faults/commits.test'],
  },
  {
    name: 'unknown-commit-in-audit',
    guarantee: 'The audit says that the outcome of a COMMIT without an answer is unknown.',
    search: "outcome: isUnknown ? 'unknown' :",
    replacement: 'outcome:',
    tests: ['tests/faults/commits.test'],
  },
  {
    name: 'addenda-cap',
    guarantee: 'An encounter has at most 100 addenda.',
    search: 'MAX_ADDENDA = 100',
    replacement: 'MAX_ADDENDA = 1_000',
    tests: ['/addAddendum.test'],
  },
  {
    name: 'page-bytes',
    guarantee: 'A page ends at 1 MiB, as well as at its limit.',
    search: '> MAX_BYTES && index > 0',
    replacement: '< 0',
    tests: ['/pageBytes.test'],
  },
];
