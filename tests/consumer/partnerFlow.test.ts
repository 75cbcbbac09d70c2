import { cast, completeEncounter, seedCast } from '../support/cast.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { startHarness } from '../support/harness.js';
import { startMock } from '../support/mock.js';
import { partnerFlow } from './partnerFlow.js';
import type { Stage } from './session.js';

const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const { DOCUMENT_URL: documentUrl, ORDER_NO: orderNo } = process.env;

/** The mock accepts any credentials, and documents and orders are only shown. */
const mock: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    const { baseUrl: url, stop } = await startMock();
    const documentUrl = 'https://files.northwind.example/forms/jane-miller-intake.pdf';
    const { order_no: orderNo } = cast.encounter;
    return { baseUrl: url, clientId: 'anybody', clientSecret: 'anything', documentUrl, orderNo, close: stop };
  },
};

const server: Stage = {
  hasDocument: true,
  hasOrder: true,
  async open() {
    const fileHost = await startFileHost();
    const harness = await startHarness({ environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: fileHost.host } });
    const { clientId, clientSecret } = await seedCast(harness);
    await completeEncounter(harness);
    const documentUrl = fileHost.serve('/intake.pdf', {
      content: sampleFiles.pdf,
      headers: { 'Content-Type': 'application/pdf' },
    });
    return {
      baseUrl: harness.baseUrl,
      clientId,
      clientSecret,
      documentUrl,
      orderNo: cast.encounter.order_no,
      async close() {
        await fileHost.close();
        await harness.close();
      },
    };
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
