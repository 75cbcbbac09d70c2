import type { DomainContext } from '../../src/context.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { importProviders } from '../../src/domain/providers/importProviders.js';
import { newCategory, newClinic, newProduct } from '../support/factories.js';
import type { Harness } from '../support/harness.js';
import type { Client } from './history.js';

/** A tenant with its catalog and its API clients. */
export interface Tenant {
  readonly id: string;
  readonly mode: 'live' | 'sandbox';
  readonly clinics: readonly string[];
  /** With their amounts, category and pharmacy. */
  readonly treatments: readonly { readonly id: string }[];
  readonly clients: readonly Client[];
  /** References of the providers with a license, if the tenant requires one. */
  readonly licensed: readonly string[] | undefined;
}

const ROLES = [
  ...(['partner', 'partner', 'limited', 'pharmacy', 'billing', 'billing'] as const),
  ...(['provider', 'provider', 'provider'] as const),
];

/** The first tenant is a sandbox, whose clock can move; the second one requires licenses, which two providers have. */
export async function seedTenant(domain: DomainContext, index: number): Promise<Tenant> {
  const mode = index === 0 ? 'sandbox' : 'live';
  const { id } = await createTenant(domain, { name: `Tenant ${index}`, mode, requireLicensedProvider: index === 1 });
  const harness = { domain } as unknown as Harness;
  const owner = { tenantId: id, clientId: '', clientSecret: '', token: '' };
  const clinics = [await newClinic(harness, owner), await newClinic(harness, owner)];
  const [one, other] = [domain.newId(), domain.newId()];
  const skin = await newCategory(harness, owner);
  const offers = [
    { ...skin, pharmacyId: one, price: '240.00', shippingAmount: '15.00' },
    { ...skin, pharmacyId: one, price: '60.10', shippingAmount: '0.00' },
    { ...(await newCategory(harness, owner)), pharmacyId: other, price: '0.00', shippingAmount: '9.99' },
    { ...(await newCategory(harness, owner)), pharmacyId: other, price: '120.55', shippingAmount: '5.00', isRx: true },
  ];
  const treatments = await Promise.all(
    offers.map(async (offer) => ({ ...offer, id: await newProduct(harness, owner, offer) })),
  );
  const clients = ROLES.map(async (role, number): Promise<Client> => {
    const name = `${id}.${role}.${number}`;
    const limits = role === 'limited' ? { clinics: clinics.slice(0, 1) } : {};
    const preset = role === 'limited' ? 'partner' : role;
    const created = await createApiClient(domain, { tenant: id, name, preset, ...limits });
    return { name, tenant: id, role, clientId: created.clientId, clientSecret: created.clientSecret };
  });
  const made = await Promise.all(clients);
  const licensed = made.flatMap(({ role, name }) => (role === 'provider' ? name : [])).slice(0, 2);
  if (index === 1) await importProviders(domain, id, JSON.stringify({ providers: licensed.map(providerOf) }));
  return { id, mode, clinics, treatments, clients: made, licensed: index === 1 ? licensed : undefined };
}

const providerOf = (reviewerRef: string) => ({
  ...{ reviewerRef, name: reviewerRef, npi: '1234567893', credential: 'MD' },
  licenses: [{ state: 'TX', number: '1', expiresOn: '2100-01-01', asynchronousAllowed: true }],
});
