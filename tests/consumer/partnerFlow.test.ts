import { cast, seedCast } from '../support/cast.js';
import { startHarness } from '../support/harness.js';
import { startMock } from '../support/mock.js';
import { createTestDatabase } from '../support/postgres.js';
import { partnerFlow } from './partnerFlow.js';
import type { Stage } from './session.js';

const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const { DOCUMENT_URL: documentUrl, ORDER_NO: orderNo } = process.env;

/** What the examples show, and a sandbox has. */
const shown = {
  documentUrl: 'https://files.northwind.example/forms/jane-miller-intake.pdf',
  orderNo: cast.encounters.completed.order_no,
};

/** The mock accepts any credentials, and documents and orders are only shown. */
const mock: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    const { baseUrl: url, stop } = await startMock();
    return { baseUrl: url, clientId: 'anybody', clientSecret: 'anything', ...shown, close: stop };
  },
};

const server: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    // With the rights that the migrations grant to the service, and no others.
    const database = await createTestDatabase();
    const harness = await startHarness({ databaseUrl: database.serviceUrl });
    const { clientId, clientSecret } = await seedCast(harness);
    const close = () => harness.close().then(database.drop);
    return { baseUrl: harness.baseUrl, clientId, clientSecret, ...shown, close };
  },
};

// BASE_URL with CLIENT_ID and CLIENT_SECRET names a deployment to run against instead; with DOCUMENT_URL (a PDF that it
// can fetch) and ORDER_NO (an order of the tenant) nothing is left out.
if (baseUrl && clientId && clientSecret) {
  const close = async (): Promise<void> => undefined;
  partnerFlow(baseUrl, {
    hasDocument: Boolean(documentUrl),
    hasOrder: Boolean(orderNo),
    open: async () => ({ baseUrl, clientId, clientSecret, documentUrl, orderNo, close }),
  });
} else {
  partnerFlow('the mock', mock);
  partnerFlow('the service', server);
}
