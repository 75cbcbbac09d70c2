import { randomUUID } from 'node:crypto';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openS3Store } from '../../../src/adapters/objects/s3Store.js';
import { removeOrphanedObjects } from '../../../src/domain/sweeps/orphanedObjects.js';
import { newDocument, newPartner, newPatient, type Partner } from '../../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../../support/fileHost.js';
import { temporaryFolder } from '../../support/folder.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { bodyOf, closeServer, listen } from '../../support/objectStores.js';
import { hasS3Server, startS3Server, type S3Server } from '../../support/s3.js';
import { statementsOf } from '../../support/statements.js';

const hour = 3_600_000;

let host: FileHost;
beforeAll(async () => void (host = await startFileHost()));
afterAll(() => host.close());

/** Tests every driver alike; `openStore` returns the environment that selects it. */
function describeSweep(openStore: () => Promise<Record<string, string>>): void {
  let harness: Harness;
  let partner: Partner;
  let patientId: string;

  beforeAll(async () => {
    const environment = { ...(await openStore()), DOCUMENT_FETCH_ALLOWED_HOSTS: host.host };
    harness = await startHarness({ environment });
    partner = await newPartner(harness);
    patientId = await newPatient(harness, partner);
  });
  afterAll(() => harness.close());

  const keys = async (): Promise<string[]> => {
    const listed: string[] = [];
    for await (const { key } of harness.services.objects.list()) listed.push(key);
    return listed.sort();
  };
  const keyOf = (fileName: string, tenantId = partner.tenantId): string =>
    `${tenantId}/clients/${patientId}/lab-results/${randomUUID()}/${fileName}`;
  const put = async (key: string): Promise<string> => {
    await harness.services.objects.put(key, bodyOf('content'), 'application/pdf');
    return key;
  };
  const upload = async (fileName: string): Promise<string> => {
    const json = { url: host.serve('/a.pdf', { content: sampleFiles.pdf }), fileName };
    const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
    const { status, body } = await call(harness, target, { token: partner.token, json });
    expect(status).toBe(200);
    return body.userDocument.blobPath;
  };
  /** Runs the job this many hours from now. */
  const sweepAfter = (hours: number, options = {}) => {
    harness.clock.now = new Date(Date.now() + hours * hour);
    return removeOrphanedObjects(harness.services, options);
  };

  it('removes old objects without a row and keeps those with one, even with unusual file names', async () => {
    const names = [
      ...['a b.pdf', '100%.pdf', 'a%20b.pdf', 'a+b&c=d;e.pdf', 'it\'s <1> "quoted".pdf'],
      ...['Blüte 血液.pdf', '1e5.pdf', '👩‍⚕️.pdf'],
    ];
    const kept: string[] = [];
    for (const name of names) kept.push(await upload(name));
    for (const name of names) await put(keyOf(name));
    expect(await keys()).toHaveLength(2 * names.length);
    expect(await sweepAfter(25)).toEqual({ objects: names.length, unfinished: 0 });
    expect(await keys()).toEqual(kept.sort());
    expect(await sweepAfter(25)).toEqual({ objects: 0, unfinished: 0 });
  });

  it('keeps objects younger than a day, whose upload may be in progress', async () => {
    const young = await put(keyOf('young.pdf'));
    expect(await sweepAfter(23.9)).toEqual({ objects: 0, unfinished: 0 });
    expect(await keys()).toContain(young);
    expect(await sweepAfter(24.1)).toEqual({ objects: 1, unfinished: 0 });
  });

  it('keeps objects that a row of another tenant names, objects of unknown tenants and objects with other key formats', async () => {
    const other = await newPartner(harness);
    const id = await newDocument(harness, other, await newPatient(harness, other));
    const blobPath = keyOf('shared.pdf');
    const where = { tenantId: other.tenantId, id };
    await harness.domain.db.prisma.document.updateMany({ where, data: { blobPath } });
    const kept = [blobPath, keyOf('theirs.pdf', 'unknown'), 'backup/yesterday.sql', `${partner.tenantId}/logo.png`];
    for (const key of kept) await put(key);
    expect(await sweepAfter(1_000)).toEqual({ objects: 0, unfinished: 0 });
    expect(await keys()).toEqual(expect.arrayContaining(kept));
  });

  it('succeeds when several sweeps run simultaneously', async () => {
    for (let count = 0; count < 6; count += 1) await put(keyOf('waste.pdf'));
    await Promise.all([sweepAfter(25), sweepAfter(25), sweepAfter(25)]);
    expect((await keys()).filter((key) => key.endsWith('waste.pdf'))).toEqual([]);
  });

  it('removes no object if its signal is already aborted, and the next sweep removes it', async () => {
    await put(keyOf('later.pdf'));
    await expect(sweepAfter(25, { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
    expect(await sweepAfter(25)).toEqual({ objects: 1, unfinished: 0 });
  });
}

describe('removeOrphanedObjects in the file store', () => {
  const dataDir = temporaryFolder()();

  describeSweep(async () => ({ DATA_DIR: dataDir }));

  it('looks up a thousand objects per statement, and removes partial files older than a day', async () => {
    const harness = await startHarness({ environment: { DATA_DIR: dataDir } });
    const { tenantId } = await newPartner(harness);
    const folder = join(dataDir, 'documents');
    const strays = join(folder, tenantId, 'clients', randomUUID(), 'lab-results', randomUUID());
    await mkdir(strays, { recursive: true });
    await Promise.all(Array.from({ length: 1_001 }, (_, count) => writeFile(join(strays, `${count}.pdf`), '')));
    const incoming = join(folder, '.incoming');
    const old = new Date(Date.now() - 25 * hour);
    await writeFile(join(incoming, 'old'), 'half');
    await utimes(join(incoming, 'old'), old, old);
    await writeFile(join(incoming, 'young'), 'half');
    harness.clock.now = new Date();
    expect(await removeOrphanedObjects(harness.services)).toEqual({ objects: 0, unfinished: 1 });
    expect(await readdir(incoming)).toEqual(['young']);
    harness.clock.now = new Date(Date.now() + 1_000);
    const statements = await statementsOf(async () => {
      expect(await removeOrphanedObjects(harness.services, { safeAge: 0 })).toEqual({ objects: 1_001, unfinished: 1 });
    });
    expect(statements.filter(({ text }) => text.includes('blob_path'))).toHaveLength(2);
    await harness.close();
  });
});

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('removeOrphanedObjects in the S3 store', () => {
  let server: S3Server;
  beforeAll(async () => void (server = await startS3Server()));
  afterAll(() => server.close());

  describeSweep(async () => server.environment);
});

const folder = temporaryFolder();
it('the list of the S3 store reads all pages, and requests the second only when it is needed', async () => {
  const modified = '<LastModified>2026-11-20T16:00:00.000Z</LastModified>';
  const page = (keys: string[], next = ''): string => `<ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>
      ${keys.map((key) => `<Contents><Key>${key}</Key>${modified}</Contents>`).join('')}
      <NextContinuationToken>${next}</NextContinuationToken></ListBucketResult>`;
  const pages: Record<string, string> = {
    '': page(['a', 'b'], '12'),
    12: page(['c'], 'x/y+z='),
    'x/y+z=': page(['d']),
  };
  const requests: string[] = [];
  const { server, origin } = await listen((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    requests.push(searchParams.get('continuation-token') ?? '');
    response.end(pages[requests.at(-1) ?? '']);
  });
  const account = { region: 'us-east-1', bucket: 'documents', accessKey: 'key', secretKey: 'secret' };
  const store = await openS3Store({ ...account, endpoint: origin, spoolFolder: folder() });
  const keys: string[] = [];
  for await (const { key, modifiedAt } of store.list()) {
    keys.push(key);
    expect(modifiedAt).toEqual(new Date('2026-11-20T16:00:00.000Z'));
    // The store requests the next page only after this one is used up.
    if (key === 'b') expect(requests).toHaveLength(1);
  }
  expect(keys).toEqual(['a', 'b', 'c', 'd']);
  await closeServer(server);
});
