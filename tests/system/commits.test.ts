import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hash, randomUUID } from 'node:crypto';
import { newPartner, newPatient, patientBody } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { createTestDatabase } from '../support/postgres.js';
import { startProxy } from '../support/proxy.js';

const database = await createTestDatabase();
const proxy = await startProxy(database.url);
const files = await startFileHost();
const environment = { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
const harness = await startHarness({ environment, databaseUrl: proxy.url });
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);
afterAll(async () => {
  await harness.close();
  await proxy.close();
  await files.close();
  await database.drop();
});

interface Sent {
  readonly target: string;
  readonly json: unknown;
  readonly key: string;
}

const send = ({ target, json, key }: Sent): Promise<Answer> =>
  call(harness, target, { token: partner.token, json, headers: { 'Idempotency-Key': key } });

/** The stored files, and the file names in the rows of documents. */
async function stored() {
  const { tenantId } = partner;
  const rows = await harness.domain.db.prisma.document.findMany({ where: { tenantId }, select: { blobPath: true } });
  const folder = join(harness.dataDir, 'documents', tenantId);
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const objects = found.filter((entry) => entry.isFile()).map(({ name }) => name);
  return { rows: rows.map(({ blobPath }) => blobPath.split('/').at(-1) ?? ''), objects };
}

describe('after a reset of the connection at COMMIT,', () => {
  // Prisma prepares COMMIT and sends the statement's name; our transactions send the text.
  const isCommit = ['COMMIT\0', hash('sha1', 'COMMIT')];
  /** Resets the next connection that commits. */
  const cutAtCommit = (when: 'unsent' | 'unanswered'): void =>
    proxy.watch((chunk, from) => {
      if ((from === 'client') !== (when === 'unsent')) return null;
      const at = Math.max(...isCommit.map((text) => chunk.indexOf(text)));
      if (at < 0) return null;
      proxy.watch(null);
      return from === 'client' ? at : at - 'C0000'.length;
    });

  const patients = () => harness.domain.db.prisma.patient.count({ where: { tenantId: partner.tenantId } });
  const documents = async () => (await stored()).rows.length;
  const transactions = [
    {
      operation: 'uploadPatientDocument',
      target: () => `POST /clients-documents/${patientId}/upload-url/lab-results`,
      json: () => ({ url: files.serve('/scan.pdf', { content: sampleFiles.pdf }) }),
      count: documents,
    },
    { operation: 'createPatient', target: () => 'POST /clients', json: () => patientBody(), count: patients },
  ];
  const cuts = [
    { when: 'unsent', committed: 0 },
    { when: 'unanswered', committed: 1 },
  ] as const;

  it.each(transactions.flatMap((transaction) => cuts.map((cut) => ({ ...transaction, ...cut }))))(
    '$operation with the COMMIT $when answers 503, audits the outcome as unknown, and has taken effect once after a retry',
    async ({ target, json, count, when, committed }) => {
      const before = await count();
      const request = { target: target(), json: json(), key: randomUUID() };
      cutAtCommit(when);
      const failed = await send(request);
      expect([failed.status, failed.body.code]).toEqual([503, 'dependency_unavailable']);
      expect(failed.headers.get('Retry-After')).toBe('5');
      expect((await count()) - before).toBe(committed);
      const { rows, objects } = await stored();
      expect(objects).toEqual(expect.arrayContaining(rows));
      expect(await auditOf(failed)).toEqual([...(committed ? ['success'] : []), 'unknown']);

      const retried = await send(request);
      expect([retried.status < 300, retried.headers.has('Idempotent-Replayed')]).toEqual([true, committed === 1]);
      expect((await count()) - before).toBe(1);
    },
  );

  /** The audited outcomes of a request; polls, because a 503 does not wait for its audit row. */
  async function auditOf({ headers }: Answer): Promise<string[]> {
    for (;;) {
      const rows = await harness.domain.db.prisma.$queryRaw<{ outcome: string; status: number }[]>`
        SELECT outcome, status FROM audit_event WHERE request_id = ${headers.get('X-Request-Id')}::uuid ORDER BY position`;
      if (rows.some(({ status }) => status === 503)) return rows.map(({ outcome }) => outcome);
    }
  }
});
