import { encounterBody, newDocument, newPartner, newPatient } from '../../support/factories.js';
import { call, type Answer } from '../../support/http.js';
import { openHarness } from '../../support/harness.js';

// A withdrawal races with encounters that name the document. Events are in the order of commits, so they show which came
// before it.

/** `RACES=200` runs more. */
const races = Number(process.env['RACES'] ?? 20);

const harness = await openHarness();
const partner = await newPartner(harness);
const given = await encounterBody(harness, partner);

const send = (target: `POST /${string}`, json: object): Promise<Answer> =>
  call(harness, target, { token: partner.token, json });

it(`no encounter names a document that was withdrawn before, in ${races} races`, async () => {
  const outcomes = new Set<string>();
  for (let number = 0; number < races; number += 1) {
    const patientId = await newPatient(harness, partner);
    const documentId = await newDocument(harness, partner, patientId);
    const create = () => send('POST /encounters', { ...given, patientId, documentIds: [documentId] });
    const withdraw = () => send(`POST /documents/${documentId}/withdraw`, { reason: 'wrong_patient' });
    // One race in ten is certain, so that both outcomes occur on a slow machine, too.
    const [early, late] = number % 2 === 0 ? [create, withdraw] : [withdraw, create];
    const first = early();
    if (number % 10 < 2) await first;
    await Promise.all([late(), first]);
    const rows = await harness.domain.db.prisma.$queryRaw<{ type: string }[]>`
      SELECT type::text FROM event WHERE tenant_id = ${partner.tenantId} AND type IN ('encounter.created', 'document.withdrawn')
        AND (data->>'patientId' = ${patientId} OR data->>'user_id' = ${patientId}) ORDER BY position`;
    outcomes.add(rows.map(({ type }) => type).join(', '));
  }
  expect([...outcomes].sort()).toEqual(['document.withdrawn', 'encounter.created, document.withdrawn']);
}, 120_000);
