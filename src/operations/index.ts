import type { Operations } from '../contract.js';
import { createEncounter } from './createEncounter.js';
import { createPatient } from './createPatient.js';
import { findPatients } from './findPatients.js';
import { getAuthorizationServerMetadata } from './getAuthorizationServerMetadata.js';
import { getEncounter } from './getEncounter.js';
import { getEncounterStatus } from './getEncounterStatus.js';
import { getJwks } from './getJwks.js';
import { getLiveness } from './getLiveness.js';
import { getPatient } from './getPatient.js';
import { getReadiness } from './getReadiness.js';
import { issueToken } from './issueToken.js';
import { listClinics } from './listClinics.js';
import { listProducts } from './listProducts.js';
import { uploadPatientDocument } from './uploadPatientDocument.js';

/** Every operation of the contract: one missing, extra or mistyped does not compile. */
export const operations = {
  createEncounter,
  createPatient,
  findPatients,
  getAuthorizationServerMetadata,
  getEncounter,
  getEncounterStatus,
  getJwks,
  getLiveness,
  getPatient,
  getReadiness,
  issueToken,
  listClinics,
  listProducts,
  uploadPatientDocument,
} satisfies Operations;
