import type { Model } from './linearize.js';

/** A patient: the fields that clients change, its verification, and the version in its ETag. */
interface PatientState {
  readonly version: number;
  readonly fields: Readonly<Record<string, string | null>>;
  readonly isVerified: string;
}

export const newPatientState: PatientState = {
  version: 1,
  fields: { employer: null, notes: null, emergencyContactName: null },
  isVerified: 'NOTVERIFIED',
};
/** */
const verifications: Readonly<Record<string, readonly string[]>> = {
  NOTVERIFIED: ['INVITED', 'VERIFIED'],
  INVITED: ['INVITED', 'VERIFIED', 'NOTVERIFIED'],
};

export const patientModel: Model<PatientState> = {
  step(state, { kind, intent: { input, ifMatch } }) {
    if (kind === 'simulateVerification') {
      const { status } = input;
      if (!verifications[state.isVerified]?.includes(status)) return { refused: ['invalid_state'] };
      const events = status === state.isVerified ? [] : [`patient.verification_updated ${status}`];
      return { state: { ...state, version: state.version + 1, isVerified: status }, events };
    }
    if (kind !== 'updatePatient') return { state, events: ['patient.created'] };
    if (ifMatch !== undefined && ifMatch !== `"${state.version}"`) return { refused: ['version_conflict'] };
    const next = { ...state, version: state.version + 1, fields: { ...state.fields, ...input } };
    return { state: next, events: [`patient.updated ${Object.keys(input).join()}`] };
  },
  shows: ({ version, fields, isVerified }, { body, etag }) =>
    (!etag || etag === `"${version}"`) &&
    body.isVerified === isVerified &&
    Object.entries(fields).every(([field, value]) => body[field] === undefined || body[field] === value),
};

/** A document: the reason of its withdrawal, which is final. */
export const documentModel: Model<{ readonly reason: string | null }> = {
  step(state, { kind, intent: { input } }) {
    if (kind !== 'withdrawDocument') return { state, events: ['document.created'] };
    if (state.reason === input.reason) return { state, events: [] };
    return state.reason === null
      ? { state: { reason: input.reason }, events: ['document.withdrawn'] }
      : { refused: ['document_withdrawn'] };
  },
  shows: ({ reason }, { body }) => body.withdrawn === undefined || (body.withdrawn?.reason ?? null) === reason,
};
