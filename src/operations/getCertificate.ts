import { create as contentDisposition } from 'content-disposition';
import type { Operation } from './operation.js';
import { certify } from '../domain/reviews/certificate.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { certificateView } from '../views/certificateView.js';

/** GET /encounters/{encounter_id}/certificate: a PDF that clinics show to inspectors. */
export const getCertificate: Operation<'getCertificate'> = async ({ path, query }, context) => {
  const encounter = await showEncounter(context, path.encounter_id);
  context.audit.patientId = encounter.patientId;
  const certificate = await certify(context, encounter);
  const headers = { 'Content-Disposition': contentDisposition(`${certificate.gfeNo}.pdf`, { type: 'inline' }) };
  const shown = { now: context.now(), paper: query.paper, baseUrl: context.baseUrl };
  return { status: 200, headers, body: await context.renderPdf(certificateView(certificate, shown)) };
};
