import { mountDisk } from '../support/disk.js';
import { patientBody } from '../support/factories.js';
import { call, type Answer } from '../support/http.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { demoToken } from './servers.js';

/** Enough for PostgreSQL and a little more. */
const DISK_MB = 256;

const disk = await mountDisk(DISK_MB);
if (!disk)
  process.stderr.write('SKIPPED: the test on a full disk. It needs the right to mount a disk (CAP_SYS_ADMIN).\n');
const data = await temporaryDataDir(disk?.path);
afterAll(async () => {
  await killServers();
  await data.remove();
  await disk?.remove();
});

const itOnDisk = disk ? it : it.skip;

itOnDisk(
  'a server with its own PostgreSQL answers 503 while the disk is full, and recovers',
  async () => {
    const settings = { DATA_DIR: data.dataDir, RATE_LIMIT: 'off', METRICS_PORT: '0' };
    const baseUrl = await startServer(settings, '--demo').started;
    const token = await demoToken(baseUrl, data.dataDir, 1);
    const create = (): Promise<Answer> => call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
    /** Creates patients until a response has a status other than this. */
    const createWhile = async (status: number): Promise<Answer> => {
      for (;;) {
        const answer = await create();
        if (answer.status !== status) return answer;
      }
    };
    expect((await create()).status).toBe(201);
    await disk?.fill();
    const refused = await createWhile(201);
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
    await disk?.free();
    expect((await createWhile(503)).status).toBe(201);
  },
  120_000,
);
