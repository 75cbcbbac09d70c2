import type { Socket } from 'node:net';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';
import { figure, isFull, tally } from './faults.js';

const UPLOADERS = 3;
/** Failed uploads to wait for during each fault. */
const FAILURES = isFull ? 20 : 3;

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('an S3 server that fails', () => {
  let s3: S3Server;
  let proxy: Proxy;
  let files: FileHost;
  let harness: Harness;
  let partner: Partner;
  let patientId: string;
  beforeAll(async () => {
    s3 = await startS3Server();
    proxy = await startProxy(s3.account.endpoint);
    files = await startFileHost();
    const hosts = { S3_ENDPOINT: new URL(proxy.url).origin, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
    harness = await startHarness({ environment: { ...s3.environment, ...hosts } });
    partner = await newPartner(harness);
    patientId = await newPatient(harness, partner);
    files.serve('/scan.pdf', { content: sampleFiles.pdf });
  });
  afterAll(async () => {
    await harness.close();
    await proxy.close();
    await files.close();
    await s3.close();
  });

  const upload = (): Promise<Answer> => {
    const json = { url: `http://${files.host}/scan.pdf` };
    const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
    return call(harness, target, { token: partner.token, json });
  };
  const documents = async (): Promise<string[]> => {
    const { tenantId } = partner;
    const rows = await harness.domain.db.prisma.document.findMany({ where: { tenantId }, select: { blobPath: true } });
    return rows.map(({ blobPath }) => blobPath).sort();
  };

  const faults: [string, () => unknown][] = [
    ['refuses connections', () => proxy.cut()],
    ['resets connections', () => proxy.divert((socket) => socket.resetAndDestroy())],
    ['cuts connections in a request', () => proxy.divert((socket) => socket.once('data', () => socket.destroy()))],
    ['responds 500', () => proxy.divert(respondError)],
    // Each upload waits for the timeout of the store.
    ...(isFull ? [['is silent', () => proxy.hang()] as [string, () => unknown]] : []),
  ];

  it.each(faults)(
    'an object store that %s makes only uploads fail, with 503, and loses no acknowledged document',
    async (what, breakIt) => {
      let isOver = false;
      let failures = 0;
      const statuses: number[] = [];
      const acknowledged: string[] = [];
      const uploadAgain = async (): Promise<void> => {
        while (!isOver) {
          const { status, headers, body } = await upload();
          statuses.push(status);
          if (status === 200) acknowledged.push(body.userDocument.blobPath);
          else expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'dependency_unavailable', '5']);
          failures += status === 200 ? 0 : 1;
        }
      };
      const uploaders = Promise.all(Array.from({ length: UPLOADERS }, uploadAgain));
      while (acknowledged.length < UPLOADERS) await read();
      await breakIt();
      while (failures < FAILURES) await read();
      await proxy.mend();
      const before = acknowledged.length;
      while (acknowledged.length < before + UPLOADERS) await read();
      isOver = true;
      await uploaders;
      figure(`the S3 server ${what}`, JSON.stringify(tally(statuses)));
      const kept = await documents();
      expect(kept).toEqual(expect.arrayContaining(acknowledged));
      expect(await s3.keys()).toEqual(expect.arrayContaining(kept));
    },
    120_000,
  );

  /** Checks that other requests are served meanwhile. */
  async function read(): Promise<void> {
    const { status } = await call(harness, `GET /clients/${patientId}`, { token: partner.token });
    expect(status).toBe(200);
  }
});

function respondError(socket: Socket): void {
  const answer = 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  socket.once('data', () => socket.resume().end(answer));
}
