import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hash, randomUUID } from 'node:crypto';
import { completedEncounter, claimedEncounter, reviewBody } from '../support/reviews.js';
import { newPartner, newPatient, patientBody, type Partner } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { figure, isFull, tally } from './faults.js';

let database: TestDatabase;
let proxy: Proxy;
let files: FileHost;
let harness: Harness;
let partner: Partner;
let patientId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startProxy(database.url);
  files = await startFileHost();
  const environment = { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
  harness = await startHarness({ environment, databaseUrl: proxy.url });
  partner = await newPartner(harness);
  patientId = await newPatient(harness, partner);
});
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

describe('a reset of the connection at COMMIT', () => {
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
    '$operation with the COMMIT $when answers 503, audits the outcome as unknown, and takes effect once',
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

describe('a reset of the connection at each position in the responses of PostgreSQL', () => {
  /** The positions to cut at in a chunk: every byte in a full run, otherwise only its beginning. */
  const placesIn = (chunk: Buffer): number => (isFull ? chunk.length : 1);

  /**
   * Cuts each request one position later than the previous one, and repeats it with its key. After its commit it is not
   * cut again, so that every position belongs to a request that takes effect.
   */
  async function cutAtEachPlace(next: (key: string) => Promise<Omit<Sent, 'key'>>): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let place = 0, isLast = false; !isLast;) {
      const key = randomUUID();
      const request = { ...(await next(key)), key };
      for (let isFirst = true, isDone = false, isStored = false; !isDone; isFirst = false) {
        let [left, isCut] = [place, false];
        proxy.watch((chunk, from) => {
          if (from === 'client' || isStored) return null;
          const places = placesIn(chunk);
          if (places <= left) {
            left -= places;
            return null;
          }
          isCut = true;
          proxy.watch(null);
          return isFull ? left : 0;
        });
        const answer = await send(request);
        proxy.watch(null);
        answers.push(answer);
        isDone = answer.status < 300;
        if (!isDone && !isCut) throw new Error(`${answer.status} without a cut: ${answer.text}`);
        isLast = isDone && isFirst && !isCut;
        if (isCut) place += 1;
        isStored =
          (await harness.domain.db.prisma.idempotencyKey.count({ where: { tenantId: partner.tenantId, key } })) > 0;
        // Reopens a connection, so that the next cut hits a response to the request itself.
        await call(harness, `GET /clients/${patientId}`, { token: partner.token });
      }
    }
    return answers;
  }

  const acknowledged = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status < 300);

  function expectOrdinary(what: string, answers: readonly Answer[]): void {
    figure(what, `${JSON.stringify(tally(answers.map(({ status }) => status)))} of ${answers.length} requests`);
    const codes = answers.map(({ body }) => body.code);
    expect(new Set(codes)).toEqual(new Set(['dependency_unavailable', undefined]));
  }

  it('uploadPatientDocument answers 503 or succeeds, and each acknowledged document has its row and its object', async () => {
    const url = files.serve('/scan.pdf', { content: sampleFiles.pdf });
    const before = (await stored()).rows;
    const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
    const answers = await cutAtEachPlace(async () => ({ target, json: { url } }));
    expectOrdinary('documents', answers);
    const { rows, objects } = await stored();
    const ids = acknowledged(answers).map(({ body }) => body.documentId);
    expect(rows.sort()).toEqual([...before, ...ids].sort());
    expect(objects).toEqual(expect.arrayContaining(rows));
  }, 3_600_000);

  it('recordPayment answers 503 or succeeds, and records each acknowledged payment once', async () => {
    const { tenantId } = partner;
    const references: string[] = [];
    const answers = await cutAtEachPlace(async (key) => {
      const { encounter_id: encounterNo } = await completedEncounter(harness, partner);
      const order = await harness.domain.db.prisma.order.findFirstOrThrow({
        where: { tenantId, encounter: { encounterNo } },
      });
      references.push(key);
      return { target: `POST /orders/${order.orderNo}/payments`, json: { amount: '0.01', reference: key } };
    });
    expectOrdinary('payments', answers);
    const rows = await harness.domain.db.prisma.payment.findMany({ where: { tenantId } });
    expect(rows.map(({ reference }) => reference).sort()).toEqual(references.sort());
    expect(acknowledged(answers)).toHaveLength(rows.length);
  }, 3_600_000);

  it('submitReview answers 503 or succeeds, and creates one order for each acknowledged review', async () => {
    const reviewed: number[] = [];
    const answers = await cutAtEachPlace(async () => {
      const claimed = await claimedEncounter(harness, partner);
      reviewed.push(claimed.encounter_id);
      const json = await reviewBody(harness, partner, claimed);
      return { target: `POST /encounters/${claimed.encounter_id}/review`, json };
    });
    expectOrdinary('reviews', answers);
    const orders = await harness.domain.db.prisma.order.findMany({
      where: { tenantId: partner.tenantId, encounter: { encounterNo: { in: reviewed } } },
      include: { encounter: true },
    });
    expect(orders.map(({ encounter }) => Number(encounter.encounterNo)).sort()).toEqual(reviewed.sort());
    expect(acknowledged(answers)).toHaveLength(orders.length);
  }, 3_600_000);
});
