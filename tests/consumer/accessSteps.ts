import { expectProblem, expectSuccess, send, text, type Sent } from './consumer.js';
import { newPatient, unknownId, type Session } from './session.js';
import { tokens } from './shapes.js';

/** Tokens: how a partner's system obtains them, and where it needs them. */
export function accessSteps(session: Session): void {
  const { call, login } = session;
  const issue = (sent: Sent) => send(session.target.baseUrl, 'POST /oauth/token', sent);

  describe('tokens', () => {
    it('obtains tokens by JSON, by form and by HTTP Basic', async () => {
      const { clientId, clientSecret } = session.target;
      const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
      const ways: Sent[] = [
        { json: login() },
        { form: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret } },
        { form: { grant_type: 'client_credentials' }, authorization: basic },
      ];
      for (const way of ways) {
        const answer = await issue(way);
        expectSuccess(answer, 200);
        expect(answer.body).toEqual(tokens);
        expect(answer.headers.get('Cache-Control')).toBe('no-store');
      }
    });

    it('renews tokens with a refresh token', async () => {
      const { refresh_token } = (await issue({ json: login() })).body;
      const answer = await issue({ json: login({ grant_type: 'refresh_token', refresh_token }) });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual(tokens);
    });

    it('obtains a token with fewer permissions', async () => {
      const scope = 'admin:clinic read:product';
      const answer = await issue({ json: login({ scope }), prefer: [200, 'narrowed'] });
      expect(answer.body).toEqual({ ...tokens, scope });
    });

    it.each<[string, object, number, string]>([
      ['no grant', { grant_type: undefined }, 400, 'invalid_request'],
      ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
      ['a scope that it does not have', { scope: 'everything' }, 400, 'invalid_scope'],
      ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
      ['a made-up refresh token', { grant_type: 'refresh_token', refresh_token: 'made-up' }, 401, 'invalid_grant'],
    ])('is refused a token with %s', async (_fault, change, status, error) => {
      const answer = await issue({ json: login(change), prefer: [status, error] });
      expect(answer).toMatchObject({ status, body: { error, error_description: text } });
    });

    it.each<[string, Sent]>([
      ['GET /clinics', {}],
      ['GET /tenants/products', {}],
      [`GET /clients/${unknownId}`, {}],
      ['POST /clients', { json: newPatient() }],
      ['POST /encounters/status', { json: { encounter_id: 1 } }],
    ])('needs a token with the permission for %s', async (target, sent) => {
      const expectRefused = async (token: string | undefined, status: number, code: string): Promise<void> => {
        const prefer = token === undefined ? {} : { prefer: [status, code] as const };
        expectProblem(await call(target, { ...sent, token, ...prefer }), status, code);
      };
      await expectRefused(undefined, 401, 'token_missing');
      await expectRefused('garbage', 401, 'token_invalid');
      const { body } = await issue({ json: login({ scope: 'write:document' }) });
      await expectRefused(body.access_token, 403, 'insufficient_permission');
    });
  });
}
