import type { Operations } from './operation.js';
import { addAddendum } from './addAddendum.js';
import { cancelEncounter } from './cancelEncounter.js';
import { cancelOrder } from './cancelOrder.js';
import { claimEncounter } from './claimEncounter.js';
import { createEncounter } from './createEncounter.js';
import { createPatient } from './createPatient.js';
import { createWebhookEndpoint } from './createWebhookEndpoint.js';
import { deleteWebhookEndpoint } from './deleteWebhookEndpoint.js';
import { findPatients } from './findPatients.js';
import { getAuthorizationServerMetadata } from './getAuthorizationServerMetadata.js';
import { getCertificate } from './getCertificate.js';
import { getChart } from './getChart.js';
import { getClock } from './getClock.js';
import { getEncounter } from './getEncounter.js';
import { getEncounterStatus } from './getEncounterStatus.js';
import { getJwks } from './getJwks.js';
import { getLiveness } from './getLiveness.js';
import { getOrder } from './getOrder.js';
import { getPatient } from './getPatient.js';
import { getReadiness } from './getReadiness.js';
import { getWebhookEndpoint } from './getWebhookEndpoint.js';
import { issueToken } from './issueToken.js';
import { listAuditEvents } from './listAuditEvents.js';
import { listClinics } from './listClinics.js';
import { listEncounters } from './listEncounters.js';
import { listEvents } from './listEvents.js';
import { listOrders } from './listOrders.js';
import { listProducts } from './listProducts.js';
import { listRequests } from './listRequests.js';
import { listReviewQueue } from './listReviewQueue.js';
import { listStates } from './listStates.js';
import { listWebhookDeliveries } from './listWebhookDeliveries.js';
import { listWebhookEndpoints } from './listWebhookEndpoints.js';
import { listWebhookInbox } from './listWebhookInbox.js';
import { pingWebhookEndpoint } from './pingWebhookEndpoint.js';
import { previewEncounter } from './previewEncounter.js';
import { provideInformation } from './provideInformation.js';
import { recordFulfilment } from './recordFulfilment.js';
import { recordPayment } from './recordPayment.js';
import { refundPayment } from './refundPayment.js';
import { releaseEncounter } from './releaseEncounter.js';
import { replayWebhookEvents } from './replayWebhookEvents.js';
import { requestInformation } from './requestInformation.js';
import { rescheduleEncounter } from './rescheduleEncounter.js';
import { resetSandbox } from './resetSandbox.js';
import { retryWebhookDelivery } from './retryWebhookDelivery.js';
import { revokeApprovals } from './revokeApprovals.js';
import { rotateWebhookSecret } from './rotateWebhookSecret.js';
import { setClock } from './setClock.js';
import { setWebhookInboxBehavior } from './setWebhookInboxBehavior.js';
import { simulateEncounter } from './simulateEncounter.js';
import { simulateVerification } from './simulateVerification.js';
import { submitReview } from './submitReview.js';
import { updatePatient } from './updatePatient.js';
import { updateWebhookEndpoint } from './updateWebhookEndpoint.js';
import { uploadPatientDocument } from './uploadPatientDocument.js';

/** Every operation of the contract: one missing, extra or mistyped does not compile. */
export const operations = {
  addAddendum,
  cancelEncounter,
  cancelOrder,
  claimEncounter,
  createEncounter,
  createPatient,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  findPatients,
  getAuthorizationServerMetadata,
  getCertificate,
  getChart,
  getClock,
  getEncounter,
  getEncounterStatus,
  getJwks,
  getLiveness,
  getOrder,
  getPatient,
  getReadiness,
  getWebhookEndpoint,
  issueToken,
  listAuditEvents,
  listClinics,
  listEncounters,
  listEvents,
  listOrders,
  listProducts,
  listRequests,
  listReviewQueue,
  listStates,
  listWebhookDeliveries,
  listWebhookEndpoints,
  listWebhookInbox,
  pingWebhookEndpoint,
  previewEncounter,
  provideInformation,
  recordFulfilment,
  recordPayment,
  refundPayment,
  releaseEncounter,
  replayWebhookEvents,
  requestInformation,
  rescheduleEncounter,
  resetSandbox,
  retryWebhookDelivery,
  revokeApprovals,
  rotateWebhookSecret,
  setClock,
  setWebhookInboxBehavior,
  simulateEncounter,
  simulateVerification,
  submitReview,
  updatePatient,
  updateWebhookEndpoint,
  uploadPatientDocument,
} satisfies Operations;
