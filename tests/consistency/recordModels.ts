import type { Model } from './linearize.js';

/** A patient: the fields that clients change, and the version in its ETag. */
interface PatientState {
  readonly version: number;
  readonly fields: Readonly<Record<string, string | null>>;
}

export const newPatientState: PatientState = {
  version: 1,
  fields: { employer: null, notes: null, emergencyContactName: null },
};

export const patientModel: Model<PatientState> = {
  step(state, { kind, intent: { input, ifMatch } }) {
    if (kind !== 'updatePatient') return { state, events: ['patient.created'] };
    if (ifMatch !== undefined && ifMatch !== `"${state.version}"`) return { refused: ['version_conflict'] };
    const next = { version: state.version + 1, fields: { ...state.fields, ...input } };
    return { state: next, events: [`patient.updated ${Object.keys(input).join()}`] };
  },
  shows: ({ version, fields }, { body, etag }) =>
    (!etag || etag === `"${version}"`) &&
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
