import type { ValidateFunction } from 'ajv';
import { Prisma, type Provider, type ProviderLicence } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import type { JsonFault } from '../catalog/import/jsonDocument.js';
import { fileValidator, readFile } from '../catalog/import/readCatalog.js';
import { findRows, groupedBy, insertRows, updateRows } from '../transactions/rows.js';
import { inTransaction, type QueryContext, type TransactionContext } from '../transactions/transaction.js';
import { providerSchema, type ProviderEntry, type ProviderFile } from './providerSchema.js';

type ProviderReport = Readonly<Record<'created' | 'updated' | 'unchanged', number>>;

let compiled: ValidateFunction<ProviderFile> | undefined;

/** Replaces each provider of the file with its licences; others stay. With faults, nothing is written. */
export async function importProviders(
  context: DomainContext,
  tenantId: string,
  text: string,
): Promise<{ readonly report: ProviderReport } | { readonly faults: readonly JsonFault[] }> {
  const file = readFile(text, (compiled ??= fileValidator<ProviderFile>(providerSchema)));
  if ('faults' in file) return file;
  const { providers } = file.value;
  const faults = providers.flatMap(({ npi }, index) => {
    if (isNpi(npi)) return [];
    return [
      { ...file.document.placeOf(`/providers/${index}/npi`), message: 'is not an NPI: its check digit is wrong' },
    ];
  });
  if (faults.length > 0) return { faults };
  return inTransaction(context, async (transaction) => {
    const report = { created: 0, updated: 0, unchanged: 0 };
    for (const provider of providers) report[await writeProvider(transaction, tenantId, provider)] += 1;
    return { report };
  });
}

/** The providers of a tenant in the form of a file of providers. */
export async function listProviders({ db }: QueryContext, tenantId: string): Promise<ProviderEntry[]> {
  const [providers, licences] = await Promise.all([
    findRows(db, tenantId, 'Provider', Prisma.sql`true ORDER BY reviewer_ref`),
    findRows(db, tenantId, 'ProviderLicence', Prisma.sql`true ORDER BY state, number`),
  ]);
  const licencesOf = groupedBy(licences, ({ providerId }) => providerId);
  return providers.map(({ id, reviewerRef, name, npi, isActive }) => {
    const own = licencesOf(id).map(({ state, number, expiresOn, asynchronousAllowed }) => {
      return { state, number, expiresOn: expiresOn.toISOString().slice(0, 10), asynchronousAllowed };
    });
    return { reviewerRef, name, npi, isActive, licences: own };
  });
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

type StoredProvider = Provider & { readonly licences: readonly ProviderLicence[] };

async function writeProvider(
  { db, now, newId }: TransactionContext,
  tenantId: string,
  entry: ProviderEntry,
): Promise<keyof ProviderReport> {
  const { licences, reviewerRef, ...columns } = entry;
  const [stored] = await findRows(db, tenantId, 'Provider', Prisma.sql`reviewer_ref = ${reviewerRef} FOR UPDATE`);
  const id = stored?.id ?? newId();
  const ofProvider = Prisma.sql`provider_id = ${id}::uuid`;
  const storedLicences = stored ? await findRows(db, tenantId, 'ProviderLicence', ofProvider) : [];
  if (stored && isSame({ licences: storedLicences, ...stored }, entry)) return 'unchanged';
  const written = { ...columns, updatedAt: now() };
  if (stored) await updateRows(db, tenantId, 'Provider', written, Prisma.sql`id = ${id}::uuid`);
  else await insertRows(db, tenantId, 'Provider', [{ id, reviewerRef, createdAt: now(), ...written }]);
  await db.of(tenantId).run`DELETE FROM provider_licence WHERE tenant_id = ${tenantId} AND ${ofProvider}`;
  const rows = licences.map(({ expiresOn, ...licence }) => {
    return { id: newId(), providerId: id, ...licence, expiresOn: new Date(expiresOn) };
  });
  await insertRows(db, tenantId, 'ProviderLicence', rows);
  return stored ? 'updated' : 'created';
}

function isSame({ name, npi, isActive, licences }: StoredProvider, entry: ProviderEntry): boolean {
  const isEqual = name === entry.name && npi === entry.npi && isActive === entry.isActive;
  return isEqual && sorted(licences) === sorted(entry.licences);
}

function sorted(licences: StoredProvider['licences'] | ProviderEntry['licences']): string {
  const texts = licences.map(({ state, number, expiresOn, asynchronousAllowed }) =>
    JSON.stringify([state, number, new Date(expiresOn), asynchronousAllowed]),
  );
  return texts.sort().join();
}
