import { isDeepStrictEqual } from 'node:util';
import type { ValidateFunction } from 'ajv';
import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { DomainContext } from '../../context.js';
import type { JsonFault } from '../catalog/import/jsonDocument.js';
import { fileValidator, inFileOrder, readFile } from '../catalog/import/readCatalog.js';
import { findRows, insertRows, updateRows } from '../transactions/rows.js';
import { inTransaction, type TransactionContext } from '../transactions/transaction.js';
import { providerSchema, type ProviderEntry, type ProviderFile } from './providerSchema.js';

type ProviderReport = Readonly<Record<'created' | 'updated' | 'unchanged', number>>;

let compiled: ValidateFunction<ProviderFile> | undefined;

/**
 * Creates or replaces each provider of the file, with all its licenses; other providers stay. With faults,
 * nothing is written.
 */
export async function importProviders(
  context: DomainContext,
  tenantId: string,
  text: string,
): Promise<{ readonly report: ProviderReport } | { readonly faults: readonly JsonFault[] }> {
  const file = readFile(text, (compiled ??= fileValidator<ProviderFile>(providerSchema)));
  if ('faults' in file) return file;
  const { providers } = file.value;
  const fault = (place: string, message: string) => ({ ...file.document.placeOf(`/providers/${place}`), message });
  const faults = [
    ...repeated(providers.map(({ reviewerRef }) => reviewerRef)).map((index) =>
      fault(String(index), 'repeats the reviewerRef of an earlier provider'),
    ),
    ...providers.flatMap(({ npi, deaNumber, licenses }, index) => [
      ...(isNpi(npi) ? [] : [fault(`${index}/npi`, 'is not an NPI: its check digit is wrong')]),
      ...(deaNumber === null || isDeaNumber(deaNumber)
        ? []
        : [fault(`${index}/deaNumber`, 'is not a DEA number: its check digit is wrong')]),
      ...repeated(licenses.map(licenseKey)).map((one) =>
        fault(`${index}/licenses/${one}`, 'repeats the state and number of an earlier license'),
      ),
    ]),
  ];
  if (faults.length > 0) return { faults: inFileOrder(faults) };
  return inTransaction(context, async (transaction) => {
    // Lock the tenant, so that imports run one after the other, and each compares its file with the earlier results.
    await transaction.db.of(tenantId).run`SELECT FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
    const known = new Map((await listProviders(context, tenantId)).map((provider) => [provider.reviewerRef, provider]));
    const changed = providers.filter((one) => !isDeepStrictEqual(inOrder(one), known.get(one.reviewerRef)));
    const report = { created: 0, updated: 0, unchanged: providers.length - changed.length };
    for (const provider of changed) report[await writeProvider(transaction, tenantId, provider)] += 1;
    return { report };
  });
}

/** The providers of a tenant in the form that the import reads. */
async function listProviders({ db }: DomainContext, tenantId: string): Promise<ProviderEntry[]> {
  const providers = await db.prisma.provider.findMany({
    where: { tenantId },
    include: { licenses: { where: { tenantId } } },
    orderBy: { reviewerRef: 'asc' },
  });
  return providers.map(({ reviewerRef, name, npi, credential, deaNumber, isActive, licenses }) => {
    const own = licenses.map(({ state, number, expiresOn, asynchronousAllowed }) => {
      return { state, number, expiresOn: expiresOn.toISOString().slice(0, 10), asynchronousAllowed };
    });
    return inOrder({ reviewerRef, name, npi, credential, deaNumber, isActive, licenses: own });
  });
}

/** By active live tenant, the number of active providers that lack a credential or a DEA number. */
export function incompleteProviders({ everyTenant }: Queries): Promise<{ tenantId: string; count: number }[]> {
  return everyTenant.rows`
    SELECT tenant_id AS "tenantId", count(*)::int AS count
    FROM provider JOIN tenant ON tenant.id = tenant_id AND tenant.mode = 'live' AND tenant.is_active
    WHERE provider.is_active AND (credential IS NULL OR dea_number IS NULL) GROUP BY 1 ORDER BY 1`;
}

/** Whether an NPI has a valid check digit: Luhn's formula over the prefix 80840 and the NPI (ISO/IEC 7812). */
export function isNpi(npi: string): boolean {
  const sum = Array.from(`80840${npi}`)
    .reverse()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}

/** Whether the 7th digit of a DEA number is the last digit of d1 + d3 + d5 + 2 × (d2 + d4 + d6). */
function isDeaNumber(deaNumber: string): boolean {
  const digits = Array.from(deaNumber.slice(2), Number);
  const sum = digits.slice(0, 6).reduce((total, digit, index) => total + digit * (index % 2 === 1 ? 2 : 1), 0);
  return sum % 10 === digits[6];
}

/** A provider with its licenses in a fixed order, which does not depend on the database's locale. */
const inOrder = ({ licenses, ...provider }: ProviderEntry): ProviderEntry => ({
  ...provider,
  licenses: licenses.toSorted((one, other) => (licenseKey(one) < licenseKey(other) ? -1 : 1)),
});

const licenseKey = ({ state, number }: ProviderEntry['licenses'][number]): string => `${state} ${number}`;

/** The indexes of the keys that an earlier element has, too. */
const repeated = (keys: readonly string[]): number[] =>
  keys.flatMap((key, index) => (keys.indexOf(key) < index ? [index] : []));

async function writeProvider(
  { db, now, newId }: TransactionContext,
  tenantId: string,
  entry: ProviderEntry,
): Promise<'created' | 'updated'> {
  const { licenses, reviewerRef, ...columns } = entry;
  const [stored] = await findRows(db, tenantId, 'Provider', Prisma.sql`reviewer_ref = ${reviewerRef} FOR UPDATE`);
  const id = stored?.id ?? newId();
  const ofProvider = Prisma.sql`provider_id = ${id}::uuid`;
  const written = { ...columns, updatedAt: now() };
  if (stored) await updateRows(db, tenantId, 'Provider', written, Prisma.sql`id = ${id}::uuid`);
  else await insertRows(db, tenantId, 'Provider', [{ id, reviewerRef, createdAt: now(), ...written }]);
  await db.of(tenantId).run`DELETE FROM provider_license WHERE tenant_id = ${tenantId} AND ${ofProvider}`;
  const rows = licenses.map(({ expiresOn, ...license }) => {
    return { id: newId(), providerId: id, ...license, expiresOn: new Date(expiresOn) };
  });
  await insertRows(db, tenantId, 'ProviderLicense', rows);
  return stored ? 'updated' : 'created';
}
