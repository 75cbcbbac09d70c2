import { accessSteps } from './accessSteps.js';
import { expectSuccess, listOf, send, text } from './consumer.js';
import { encounterSteps } from './encounterSteps.js';
import { patientSteps } from './patientSteps.js';
import type { Session, Stage } from './session.js';

/**
 * The flow of a partner's system with its error cases, for both the mock and the service. The mock has no data: where
 * a response depends on data, `Prefer` tells the mock which one to send.
 */
export function partnerFlow(name: string, { open, hasDocument, hasOrder }: Stage): void {
  let target: Awaited<ReturnType<Stage['open']>>;
  let token: string;
  const session: Session = {
    hasDocument,
    hasOrder,
    get target() {
      return target;
    },
    call: (operation, sent = {}) => send(target.baseUrl, operation, { token, ...sent }),
    login: (more = {}) => ({
      grant_type: 'client_credentials',
      client_id: target.clientId,
      client_secret: target.clientSecret,
      ...more,
    }),
    ids: { clinicId: '', treatmentId: '', patientId: '', documentId: '' },
  };

  describe(`a partner of ${name}`, () => {
    beforeAll(async () => {
      target = await open();
      const { body } = await send(target.baseUrl, 'POST /oauth/token', { json: session.login() });
      token = body.access_token;
    });
    afterAll(() => target.close());

    // In the order of the flow, because steps use ids of earlier ones.
    accessSteps(session);
    patientSteps(session);
    encounterSteps(session);

    it('reads health, readiness, keys and token metadata', async () => {
      const parts: [string, unknown][] = [
        ['/healthz', { status: 'ok', service: text, version: text }],
        ['/readyz', { status: 'ready', database: 'ok' }],
        ['/.well-known/jwks.json', { keys: listOf(expect.objectContaining({ kty: 'EC', alg: 'ES256', kid: text })) }],
        ['/.well-known/oauth-authorization-server', expect.objectContaining({ token_endpoint: text, jwks_uri: text })],
      ];
      for (const [path, body] of parts) {
        const answer = await session.call(`GET ${path}`, { token: undefined });
        expectSuccess(answer, 200);
        expect(answer.body).toEqual(body);
      }
    });

    it('gets 404 for an unknown path, and 405 for a method that the path does not have', async () => {
      const shown = (status: number) => ({ status, body: { status, title: text } });
      expect(await session.call('GET /no/such/path')).toMatchObject(shown(404));
      expect(await session.call('DELETE /clinics')).toMatchObject(shown(405));
    });
  });
}
