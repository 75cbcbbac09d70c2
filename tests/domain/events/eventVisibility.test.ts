import { presetPermissions, presets, type Preset } from '../../../src/domain/access/permissions.js';
import { recordEvent } from '../../../src/domain/events/record.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { makeDeliveries } from '../../../src/domain/webhooks/fanOut.js';
import type { EventType } from '../../../src/contract.js';
import { eventSchemas } from '../../support/contract.js';
import { eventsUpTo, feedPage, recordPaid } from '../../support/events.js';
import { newClient, newPartner, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { newPharmacyClient } from '../../support/tokens.js';
import { newEndpoint } from '../../support/webhooks.js';

const harness = await openHarness();
const { domain } = harness;
const { prisma } = domain.db;

const types = Object.keys(eventSchemas) as EventType[];
const subjects: Readonly<Record<Preset, readonly string[]>> = {
  partner: ['patient', 'document', 'encounter', 'gfe', 'order'],
  provider: ['encounter', 'gfe'],
  billing: ['order'],
  pharmacy: ['order'],
};

/** Records an event of each type, with the data of its example. */
const recordEach = ({ tenantId }: Partner): Promise<void> =>
  inTransaction(domain, async (transaction) => {
    for (const type of types) {
      const place = { tenantId, clinicId: null, apiClientId: type.startsWith('webhook.') ? domain.newId() : null };
      recordEvent(transaction, place, type, { ...Object(Object(eventSchemas[type]?.examples?.[0]).data) } as never);
    }
  });

/** The types of the events that a client's webhook endpoint will get. */
async function deliveredTypes({ tenantId }: Partner, endpointId: string): Promise<string[]> {
  while (await makeDeliveries(harness.services));
  const deliveries = await prisma.webhookDelivery.findMany({
    where: { tenantId, endpointId },
    select: { event: { select: { type: true } } },
  });
  return deliveries.map(({ event }) => event.type.replace('_', '.')).sort();
}

it.each(Object.keys(presets) as Preset[])(
  'a client of the preset %s gets by feed and webhook the events of subjects that it may read, and none of another tenant',
  async (preset) => {
    // For the client, then for one of another tenant: the types of the events in its feed, and those of its deliveries.
    const seen: string[][] = [];
    const [client, stranger] = await Promise.all(
      [await newPartner(harness), await newPartner(harness)].map(({ tenantId }) =>
        newClient(harness, tenantId, presetPermissions(preset, 'live')),
      ),
    );
    const endpoints = await Promise.all([client, stranger].map((each) => newEndpoint(harness, each as Partner)));
    await recordEach(client as Partner);
    for (const [index, each] of [client, stranger].entries()) {
      const { data } = await feedPage(harness, each as Partner, { limit: 100 });
      seen.push(
        data.map(({ type }) => type),
        await deliveredTypes(each as Partner, endpoints[index]?.id ?? ''),
      );
    }
    const readable = types.filter((type) => subjects[preset].includes(type.split('.')[0] ?? '')).toSorted();
    expect(seen.map((list) => list.toSorted())).toEqual([readable, readable, [], []]);
  },
);

it('a client that is limited to pharmacies gets only events of orders that have a line of these pharmacies, by feed and by webhook', async () => {
  const { tenantId } = await newPartner(harness);
  const [own, other] = [domain.newId(), domain.newId()];
  const client = await newPharmacyClient(harness, { tenantId }, own);
  const { id } = await newEndpoint(harness, client);
  await recordPaid(harness, { tenantId, clinicId: null, pharmacyIds: [other] }, 'ORD-101001');
  await recordPaid(harness, { tenantId, clinicId: null, pharmacyIds: [other, own] }, 'ORD-101002');
  const { data } = await feedPage(harness, client);
  expect(data.map((event) => event.data['order_no'])).toEqual(['ORD-101002']);
  expect(await deliveredTypes(client, id)).toEqual(['order.paid']);
});

it('a page that hides an event of another client says has_more, so that a reader finds the events behind it', async () => {
  const { tenantId } = await newPartner(harness);
  const client = await newClient(harness, tenantId);
  const hidden = { tenantId, clinicId: null, apiClientId: domain.newId() };
  await inTransaction(domain, async (transaction) =>
    recordEvent(transaction, hidden, 'webhook.ping', { endpointId: domain.newId() }),
  );
  await recordPaid(harness, { tenantId, clinicId: null }, 'ORD-101000', 3);
  expect(await eventsUpTo(harness, client, 'order.paid', 3, 1)).toHaveLength(3);
});
