import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { newPartner, newPatient, type Partner } from '../../support/factories.js';
import { eicar, startFakeClamd } from '../../support/fakeClamd.js';
import { sampleFiles, startFileHost } from '../../support/fileHost.js';
import { temporaryFolder } from '../../support/folder.js';
import { openHarness, startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { filesBelow } from '../../support/objectStores.js';
import { expectProblem } from '../../support/refusals.js';
import { until } from '../../support/until.js';

const infected = Buffer.concat([sampleFiles.pdf.subarray(0, -6), Buffer.from(`${eicar}\n%%EOF\n`)]);
const large = Buffer.concat([sampleFiles.pdf, randomBytes(3_000_000), Buffer.from('\n%%EOF\n')]);

const [host, clamd] = await Promise.all([startFileHost(), startFakeClamd({ maxLength: 4_000_000 })]);
afterAll(() => Promise.all([host.close(), clamd.close()]));

const environment = {
  DOCUMENT_FETCH_ALLOWED_HOSTS: host.host,
  DOCUMENT_SCANNER: 'clamav',
  CLAMAV_ADDRESS: clamd.setting,
};

const uploadTo = (harness: Harness, { token }: Partner, patientId: string, content: Uint8Array): Promise<Answer> => {
  const json = { url: host.serve('/file.pdf', { content }) };
  return call(harness, `POST /clients-documents/${patientId}/upload-url/lab-results`, { token, json });
};

const harness = await openHarness({ environment });
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);
afterEach(async () => {
  clamd.behave(undefined);
  await until(() => clamd.openConnections() === 0 && host.openConnections() === 0);
});

const upload = (content: Uint8Array) => uploadTo(harness, partner, patientId, content);
/** Every row and every object, temporary ones included. */
const stored = async () => [
  await harness.domain.db.prisma.document.findMany({ where: { tenantId: partner.tenantId } }),
  await filesBelow(join(harness.dataDir, 'documents')),
];

it('uploadPatientDocument stores the scanned bytes unchanged', async () => {
  const { status, body } = await upload(large);
  expect([status, body.userDocument.sizeBytes]).toEqual([200, large.length]);
  expect(clamd.scanned.at(-1)?.equals(large)).toBe(true);
  expect(body.userDocument.checksum).toBe(createHash('sha256').update(large).digest('hex'));
  const served = await fetch(body.userDocument.fileUrl);
  expect(Buffer.from(await served.arrayBuffer()).equals(large)).toBe(true);
});

it('uploadPatientDocument refuses an infected file, stores none of it and does not disclose the virus signature', async () => {
  const before = await stored();
  const answer = await upload(infected);
  expectProblem(answer, 400, 'document_rejected');
  expect(await stored()).toEqual(before);
  expect(answer.text + JSON.stringify(harness.logged)).not.toMatch(/eicar/i);
});

it('uploadPatientDocument answers 503 with Retry-After when clamd hangs up in the middle, and stores no document', async () => {
  const before = await stored();
  clamd.behave((socket) => socket.once('data', () => socket.destroy()));
  const answer = await upload(large);
  expectProblem(answer, 503, 'dependency_unavailable');
  expect(answer.headers.get('Retry-After')).toBe('5');
  expect(await stored()).toEqual(before);
});

const folder = temporaryFolder();
it('a service whose clamd is down starts, is ready, answers 503 to uploads and accepts them when clamd is back', async () => {
  const path = folder('clamd.ctl');
  const harness = await startHarness({ environment: { ...environment, CLAMAV_ADDRESS: path } });
  const partner = await newPartner(harness);
  const patientId = await newPatient(harness, partner);
  const upload = () => uploadTo(harness, partner, patientId, sampleFiles.pdf);
  expect((await call(harness, 'GET /readyz')).status).toBe(200);
  expectProblem(await upload(), 503, 'dependency_unavailable');
  const late = await startFakeClamd({ path });
  expect((await upload()).status).toBe(200);
  await late.close();
  await harness.close();
});
