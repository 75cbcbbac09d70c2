import { cast, seedCast } from '../support/cast.js';
import { startHarness } from '../support/harness.js';
import { startMock } from '../support/mock.js';
import { createTestDatabase } from '../support/postgres.js';
import { partnerFlow } from './partnerFlow.js';
import type { Stage } from './session.js';

const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const { DOCUMENT_URL: documentUrl, ORDER_NO: orderNo } = process.env;

/** Data of the examples, which every sandbox has. */
const shown = {
  documentUrl: 'https://files.northwind.example/forms/jane-miller-intake.pdf',
  orderNo: cast.encounters.completed.order_no,
};

/** The mock accepts any credentials, and answers with the documents and orders of the examples. */
const mock: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    const { baseUrl: url, stop } = await startMock();
    return { baseUrl: url, clientId: 'any', clientSecret: 'any', ...shown, close: stop };
  },
};

const server: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    // This role has only the rights that the migrations grant to the service.
    const database = await createTestDatabase();
    const harness = await startHarness({ databaseUrl: database.serviceUrl });
    const { clientId, clientSecret } = await seedCast(harness);
    const close = () => harness.close().then(database.drop);
    return { baseUrl: harness.baseUrl, clientId, clientSecret, ...shown, close };
  },
};

// BASE_URL with CLIENT_ID and CLIENT_SECRET names a deployment to run against instead; with DOCUMENT_URL (a PDF that it
// can fetch) and ORDER_NO (an order of the tenant) no step is skipped.
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
