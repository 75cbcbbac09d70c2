import type { Operations } from './operation.js';
import { cancelEncounter } from './cancelEncounter.js';
import { cancelOrder } from './cancelOrder.js';
import { claimEncounter } from './claimEncounter.js';
import { createEncounter } from './createEncounter.js';
import { createPatient } from './createPatient.js';
import { findPatients } from './findPatients.js';
import { getAuthorizationServerMetadata } from './getAuthorizationServerMetadata.js';
import { getClock } from './getClock.js';
import { getEncounter } from './getEncounter.js';
import { getEncounterStatus } from './getEncounterStatus.js';
import { getJwks } from './getJwks.js';
import { getLiveness } from './getLiveness.js';
import { getOrder } from './getOrder.js';
import { getPatient } from './getPatient.js';
import { getReadiness } from './getReadiness.js';
import { issueToken } from './issueToken.js';
import { listAuditEvents } from './listAuditEvents.js';
import { listClinics } from './listClinics.js';
import { listEncounters } from './listEncounters.js';
import { listEvents } from './listEvents.js';
import { listOrders } from './listOrders.js';
import { listProducts } from './listProducts.js';
import { listStates } from './listStates.js';
import { listReviewQueue } from './listReviewQueue.js';
import { previewEncounter } from './previewEncounter.js';
import { provideInformation } from './provideInformation.js';
import { recordFulfilment } from './recordFulfilment.js';
import { recordPayment } from './recordPayment.js';
import { refundPayment } from './refundPayment.js';
import { releaseEncounter } from './releaseEncounter.js';
import { requestInformation } from './requestInformation.js';
import { rescheduleEncounter } from './rescheduleEncounter.js';
import { resetSandbox } from './resetSandbox.js';
import { revokeApprovals } from './revokeApprovals.js';
import { setClock } from './setClock.js';
import { simulateEncounter } from './simulateEncounter.js';
import { simulateVerification } from './simulateVerification.js';
import { submitReview } from './submitReview.js';
import { updatePatient } from './updatePatient.js';
import { uploadPatientDocument } from './uploadPatientDocument.js';

/** Every operation of the contract: one missing, extra or mistyped does not compile. */
export const operations = {
  cancelEncounter,
  cancelOrder,
  claimEncounter,
  createEncounter,
  createPatient,
  findPatients,
  getAuthorizationServerMetadata,
  getClock,
  getEncounter,
  getEncounterStatus,
  getJwks,
  getLiveness,
  getOrder,
  getPatient,
  getReadiness,
  issueToken,
  listAuditEvents,
  listClinics,
  listEncounters,
  listEvents,
  listOrders,
  listProducts,
  listReviewQueue,
  listStates,
  previewEncounter,
  provideInformation,
  recordFulfilment,
  recordPayment,
  refundPayment,
  releaseEncounter,
  requestInformation,
  rescheduleEncounter,
  resetSandbox,
  revokeApprovals,
  setClock,
  simulateEncounter,
  simulateVerification,
  submitReview,
  updatePatient,
  uploadPatientDocument,
} satisfies Operations;
