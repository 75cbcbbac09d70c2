/**
 * `make measure-uploads`: measures the growth of the server's memory during 50 concurrent uploads of 20 MiB, with each
 * object store. Fails at 150 MiB or more, or if an upload fails. S3 needs python3-swift.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../src/http/listener/listen.js';
import { hasS3Server, startS3Server } from '../tests/support/s3.js';
import { startServer } from '../tests/support/serverProcess.js';

const [UPLOADS, LIMIT] = [50, 150];
const chunk = Buffer.alloc(64 * 1024, ' ');
const [head, tail] = [Buffer.from('%PDF-1.4\n'), Buffer.from('\n%%EOF\n')];
/** A file of 20 MiB in chunks, so that this process, which serves it, needs little memory, too. */
function* file(): Generator<Buffer> {
  yield head;
  for (let sent = 1; sent < 320; sent += 1) yield chunk;
  yield chunk.subarray(head.length + tail.length);
  yield tail;
}

const host = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/pdf' });
  Readable.from(file()).pipe(response);
});
const files = `127.0.0.1:${await listen(host, 0, '127.0.0.1')}`;

async function mebibytesOf(pid = 0): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function measure(store: string, environment: Record<string, string>): Promise<boolean> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ces-measure-'));
  const server = startServer({
    DATA_DIR: dataDir,
    RATE_LIMIT: 'off',
    DOCUMENT_FETCH_ALLOWED_HOSTS: files,
    ...environment,
  });
  const baseUrl = await server.started;
  const post = async (path: string, body: object, token = '') => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const response = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const {
    tenants: [demo],
  } = JSON.parse(await readFile(join(dataDir, 'demo-credentials.json'), 'utf8')) as {
    tenants: { clientId: string; clientSecret: string }[];
  };
  const credentials = { client_id: demo?.clientId, client_secret: demo?.clientSecret };
  const grant = { grant_type: 'client_credentials', ...credentials };
  const {
    body: { access_token: token },
  } = await post('/oauth/token', grant);
  const jane = { firstName: 'Jane', lastName: 'Miller', email: 'jane@example.com', dateOfBirth: '1990-06-30' };
  const {
    body: { user_id: id },
  } = await post('/clients', { ...jane, countryCode: '+1', phone: '5125550142' }, token);
  const target = `/clients-documents/${id}/upload-url/lab-results`;
  const upload = (number: number) => post(target, { url: `http://${files}/${number}.pdf` }, token);

  // Upload once first: the first upload loads modules, which would count as growth.
  await upload(0);
  const idle = await mebibytesOf(server.child.pid);
  const seen = { peak: idle, over: false };
  const uploads = Promise.all(Array.from({ length: UPLOADS }, (_, index) => upload(index + 1))).finally(
    () => (seen.over = true),
  );
  for (; !seen.over; await delay(50)) seen.peak = Math.max(seen.peak, await mebibytesOf(server.child.pid));
  const failed = (await uploads).filter(({ status }) => status !== 200);
  const [before, most, growth] = [idle, seen.peak, seen.peak - idle].map((size) => `${size.toFixed(0)} MiB`);
  process.stdout.write(`${store}: idle ${before}, peak ${most}, growth ${growth}; ${failed.length} uploads failed\n`);
  server.child.kill('SIGTERM');
  await server.ended;
  await rm(dataDir, { recursive: true, force: true });
  return seen.peak - idle < LIMIT && failed.length === 0;
}

let good = await measure('file', {});
if (hasS3Server()) {
  const {
    account: { endpoint, region, bucket, accessKey, secretKey },
    close,
  } = await startS3Server();
  const keys = { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey };
  const place = { OBJECT_STORE: 's3', S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket };
  good = (await measure('s3', { ...place, ...keys })) && good;
  await close();
}
process.exit(good ? 0 : 1);
