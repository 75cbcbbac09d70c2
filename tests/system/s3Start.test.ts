import { newToken, patientBody } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { call, type Answer } from '../support/http.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';
import { startServer } from '../support/serverProcess.js';
import { startStage, type Stage } from '../support/stage.js';
import { newCredentials } from './servers.js';

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('on S3,', () => {
  let s3: S3Server;
  let proxy: Proxy;
  let files: FileHost;
  let stage: Stage;
  let environment: Record<string, string>;
  beforeAll(async () => {
    [s3, files, stage] = await Promise.all([startS3Server(), startFileHost(), startStage()]);
    proxy = await startProxy(s3.account.endpoint);
    environment = {
      ...stage.environment,
      ...s3.environment,
      ...{ S3_ENDPOINT: new URL(proxy.url).origin, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host },
    };
  });
  afterAll(async () => {
    await stage.close();
    await proxy.close();
    await files.close();
    await s3.close();
  });

  it('the start succeeds while the S3 server is down; uploads answer 503 and recover', async () => {
    await proxy.cut();
    const server = startServer(environment);
    const at = { baseUrl: await server.started };
    const token = await newToken(at, await newCredentials(stage.db));
    const { body: patient } = await call(at, 'POST /clients', { token, json: patientBody() });
    const url = files.serve('/scan.pdf', { content: sampleFiles.pdf });
    const upload = (): Promise<Answer> =>
      call(at, `POST /clients-documents/${patient.user_id}/upload-url/lab-results`, { token, json: { url } });

    const refused = await upload();
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
    expect((await call(at, 'GET /readyz')).status).toBe(200);
    expect(server.logged().filter(({ reason }) => String(reason).endsWith('ECONNREFUSED'))).toHaveLength(1);
    await proxy.mend();
    expect((await upload()).status).toBe(200);
  });
});
