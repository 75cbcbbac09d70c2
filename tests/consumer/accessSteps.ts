import { expectSuccess, send, type Sent } from './consumer.js';
import { type Session } from './session.js';
import { tokens } from './shapes.js';

/** How a partner's system obtains tokens. */
export function accessSteps(session: Session): void {
  const { login } = session;
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
  });
}
