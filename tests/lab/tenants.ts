import type { DomainContext } from '../../src/context.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { newCategory, newClinic, newProduct } from '../support/factories.js';
import type { Harness } from '../support/harness.js';
import type { Client } from './history.js';

/** A treatment of the catalog, with amounts in cents. */
export interface Treatment {
  readonly id: string;
  readonly item: string;
  readonly price: number;
  readonly shipping: number;
  readonly pharmacy: string;
  readonly isRx: boolean;
}

/** A tenant with its catalog and its API clients. */
export interface Tenant {
  readonly id: string;
  readonly mode: 'live' | 'sandbox';
  readonly clinics: readonly string[];
  readonly treatments: readonly Treatment[];
  readonly clients: readonly Client[];
}

const ROLES = [
  ...(['partner', 'partner', 'limited', 'pharmacy', 'billing', 'billing'] as const),
  ...(['provider', 'provider', 'provider'] as const),
];

/** The first tenant is a sandbox, whose clock can move. */
export async function seedTenant(domain: DomainContext, index: number): Promise<Tenant> {
  const mode = index === 0 ? 'sandbox' : 'live';
  const { id } = await createTenant(domain, { name: `Tenant ${index}`, mode, requireLicensedProvider: false });
  const harness = { domain } as unknown as Harness;
  const owner = { tenantId: id, clientId: '', clientSecret: '', token: '' };
  const clinics = [await newClinic(harness, owner), await newClinic(harness, owner)];
  const pharmacies = [domain.newId(), domain.newId()] as const;
  const skin = await newCategory(harness, owner);
  const treatment = async (group: typeof skin, price: number, shipping: number, pharmacyId: string, isRx = false) => {
    const amounts = { price: price.toFixed(2), shippingAmount: shipping.toFixed(2) };
    const product = await newProduct(harness, owner, { ...group, ...amounts, pharmacyId, isRx });
    const item = `${group.categoryId} ${group.subcategoryId}`;
    const inCents = { price: Math.round(price * 100), shipping: Math.round(shipping * 100) };
    return { id: product, item, ...inCents, pharmacy: pharmacyId, isRx };
  };
  const treatments = [
    await treatment(skin, 240, 15, pharmacies[0]),
    await treatment(skin, 60.1, 0, pharmacies[0]),
    await treatment(await newCategory(harness, owner), 0, 9.99, pharmacies[1]),
    await treatment(await newCategory(harness, owner), 120.55, 5, pharmacies[1], true),
  ];
  const clients = ROLES.map(async (role, number): Promise<Client> => {
    const name = `${id}.${role}.${number}`;
    const limits = role === 'limited' ? { clinics: clinics.slice(0, 1) } : {};
    const preset = role === 'limited' ? 'partner' : role;
    const created = await createApiClient(domain, { tenant: id, name, preset, ...limits });
    return { name, tenant: id, role, clientId: created.clientId, clientSecret: created.clientSecret };
  });
  return { id, mode, clinics, treatments, clients: await Promise.all(clients) };
}
