import { createHash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { openObjectStore } from '../../src/adapters/objects/openObjectStore.js';
import { type ObjectStore } from '../../src/adapters/objects/objectStore.js';
import { readConfig } from '../../src/config.js';
import { removeOrphanedObjects } from '../../src/domain/sweeps/orphanedObjects.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { randomOf, type Random } from '../lab/random.js';
import { newToken, patientBody } from '../support/factories.js';
import { startFileHost } from '../support/fileHost.js';
import { call } from '../support/http.js';
import { freePort } from '../support/mock.js';
import { bodyOf } from '../support/objectStores.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';
import { startServer } from '../support/serverProcess.js';
import { startStage, type Stage } from '../support/stage.js';
import { newCredentials } from './servers.js';

/** Servers to kill; `KILLS=30` makes a longer run. */
const kills = Number(process.env['KILLS'] ?? 3);

/** BASE_URL of every server, so that all accept the same tokens. */
const publicUrl = 'http://crash.example.com';
const tenantId = 'lakeside';
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

let stage: Stage;
const host = await startFileHost();
afterAll(() => host.close());
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage.close());

/** Starts a server on a known port: the address that it reports is the public one. */
async function started(environment: Readonly<Record<string, string>>) {
  const port = await freePort();
  const server = startServer({ ...environment, PORT: String(port) });
  await server.started;
  return { server, baseUrl: `http://127.0.0.1:${port}` };
}

interface Plan {
  readonly environment: Record<string, string>;
  readonly uploads: number;
  readonly kills: number;
  /** Servers that run and are killed in parallel. */
  readonly servers: number;
  /** The folder below DATA_DIR that holds incomplete objects. */
  readonly incoming: string;
}

/** Creates a patient to upload for, and a token. */
async function provision(baseUrl: string) {
  const token = await newToken({ baseUrl }, await newCredentials(stage.db));
  const { body } = await call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
  return { token, patientId: String(body.user_id) };
}

/** Uploads while servers are killed until enough uploads are acknowledged; returns these. */
async function uploadAmongCrashes({ environment, uploads, kills, servers }: Plan, random: Random) {
  const acknowledged: { readonly id: string; readonly checksum: string; readonly link: string }[] = [];
  let [begun, killed] = [0, 0];
  const first = await started(environment);
  const { token, patientId } = await provision(first.baseUrl);

  const upload = async (baseUrl: string): Promise<void> => {
    const path = `/${(begun += 1)}.pdf`;
    const middle = randomBytes(random.int(200_000));
    const content = Buffer.concat([Buffer.from('%PDF-1.4\n'), middle, Buffer.from('\n%%EOF\n')]);
    const json = { url: host.serve(path, { content, headers: { 'Content-Type': 'application/pdf' } }) };
    const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
    const { status, body } = await call({ baseUrl }, target, { token, json });
    expect([status, body.code]).toEqual([200, undefined]);
    const { id, checksum, fileUrl } = body.userDocument;
    expect(checksum).toBe(sha256(content));
    acknowledged.push({ id, checksum, link: fileUrl });
  };

  /** Starts one server after another, keeps three uploads running on each, and kills it among them. */
  const runAndKill = async (given?: Awaited<ReturnType<typeof started>>): Promise<void> => {
    let next = given;
    while (killed < kills || acknowledged.length < uploads) {
      const { server, baseUrl } = next ?? (await started(environment));
      next = undefined;
      let alive = true;
      const enough = (): boolean => killed >= kills && acknowledged.length >= uploads;
      const partner = async (): Promise<void> => {
        while (alive && !enough()) {
          await upload(baseUrl).catch((error: unknown) => {
            // Only a killed server may cut its connections.
            if (alive) throw error;
          });
        }
      };
      const partners = Promise.all([partner(), partner(), partner()]);
      if (killed < kills) {
        const until = acknowledged.length + random.int(8);
        while (acknowledged.length < until) await Promise.race([delay(5), partners]);
        await delay(random.int(40));
        killed += 1;
      } else await partners;
      alive = false;
      server.child.kill('SIGKILL');
      await Promise.all([server.ended, partners]);
    }
  };
  await Promise.all(Array.from({ length: servers }, (_, lane) => runAndKill(lane === 0 ? first : undefined)));
  return acknowledged;
}

async function keysOf(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list()) keys.push(key);
  return keys.sort();
}

/** Kills servers at random moments, then checks rows, objects and acknowledged uploads. */
async function killAndCheck(plan: Plan): Promise<void> {
  const environment = { DATA_DIR: stage.dataDir, BASE_URL: publicUrl, ...plan.environment };
  const seed = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31));
  try {
    const uploading = { DATABASE_URL: stage.database.url, DOCUMENT_FETCH_ALLOWED_HOSTS: host.host };
    const crashes = { ...plan, environment: { ...environment, ...uploading } };
    const acknowledged = await uploadAmongCrashes(crashes, randomOf(seed));
    const { objectStore } = readConfig(environment);
    const objects = await openObjectStore({ dataDir: stage.dataDir, store: objectStore });
    const rows = await stage.db.prisma.document.findMany({ where: { tenantId }, orderBy: { blobPath: 'asc' } });
    const rowKeys = rows.map(({ blobPath }) => blobPath).sort();

    expect(acknowledged.length).toBeGreaterThanOrEqual(plan.uploads);
    const known = new Map(rows.map((row) => [row.id, row]));
    expect(acknowledged.filter(({ id, checksum }) => known.get(id)?.checksum !== checksum)).toEqual([]);

    const { baseUrl } = await started({ ...environment, DATABASE_URL: stage.database.url });
    const contentOf = async (link: string): Promise<string> => {
      const response = await fetch(link.replace(publicUrl, baseUrl));
      return sha256(Buffer.from(await response.arrayBuffer()));
    };
    for (const { blobPath, checksum } of rows) expect(sha256(await buffer(objects.read(blobPath)))).toBe(checksum);
    for (const { link, checksum } of acknowledged) expect(await contentOf(link)).toBe(checksum);

    // Makes sure that there are leftovers to remove, even if no kill caused any.
    const orphan = `${tenantId}/clients/${randomUUID()}/lab-results/${randomUUID()}/blood.pdf`;
    await objects.put(orphan, bodyOf('%PDF-'), 'application/pdf');
    const incoming = join(stage.dataDir, plan.incoming);
    await writeFile(join(incoming, 'left'), '%PDF-');
    expect(await keysOf(objects)).toEqual(expect.arrayContaining([orphan, ...rowKeys]));
    // All uploading servers are dead, so no object is too young to remove.
    const later = { ...systemContext(stage.db), now: () => new Date(Date.now() + 60_000), objects };
    await removeOrphanedObjects(later, { safeAge: 0 });
    expect(await keysOf(objects)).toEqual(rowKeys);
    expect(await readdir(incoming)).toEqual([]);
  } catch (error) {
    throw new Error(`Repeat with CRASH_SEED=${seed}: ${String(error)}`, { cause: error });
  }
}

const title =
  'loses no acknowledged upload, leaves no row without its object, and leaves only orphans that the clean-up removes';

describe('kill -9 during uploads', () => {
  it(title, () =>
    killAndCheck({ environment: {}, uploads: 6 * kills, kills, servers: 2, incoming: 'documents/.incoming' }),
  );
});

(hasS3Server() ? describe : describe.skip)('kill -9 during uploads to S3', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  });
  afterAll(() => s3.close());

  it(title, () =>
    killAndCheck({
      environment: s3.environment,
      uploads: 12,
      kills: Math.ceil(kills / 2),
      servers: 1,
      incoming: 'spool',
    }),
  );
});
