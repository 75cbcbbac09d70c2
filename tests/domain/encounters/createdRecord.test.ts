import type { Caller } from '../../../src/context.js';
import { createEncounter, getEncounter } from '../../../src/domain/encounters/encounters.js';
import type { EncounterRequest } from '../../../src/domain/encounters/draft.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { encounterBody, newDocument, newPartner, newPatient, newProduct } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';

let harness: Harness;
beforeAll(async () => void (harness = await startHarness()));
afterAll(() => harness.close());

it('createEncounter returns exactly the record that getEncounter reads back', async () => {
  const { domain } = harness;
  const partner = await newPartner(harness);
  const patientId = await newPatient(harness, partner);
  const documentIds = [await newDocument(harness, partner, patientId)];
  const treatmentIds = [await newProduct(harness, partner), await newProduct(harness, partner)];
  const body = { ...(await encounterBody(harness, partner)), patientId, documentIds, treatmentIds };
  const { id: apiClientId } = await domain.db.prisma.apiClient.findUniqueOrThrow({
    where: { clientId: partner.clientId },
  });
  const { tenantId, clientId } = partner;
  const caller: Caller = {
    tenantId,
    clientId,
    apiClientId,
    tenantMode: 'live',
    permissions: new Set(),
    allowedClinicIds: null,
    allowedPharmacyIds: null,
  };
  const created = await inTransaction(domain, (transaction) =>
    createEncounter({ ...transaction, caller }, body as unknown as EncounterRequest),
  );
  const stored = await inTransaction(domain, (transaction) =>
    getEncounter({ ...transaction, caller }, created.encounterNo),
  );
  expect(created).toEqual(stored);
});
