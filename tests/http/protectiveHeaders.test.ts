import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();

const targets = [
  ...['GET /healthz', 'GET /clinics', 'POST /oauth/token', 'GET /no/such/path'],
  ...['GET /', 'GET /docs', 'GET /openapi.json', 'GET /files/no-link', 'GET /workbench'],
];

it.each(targets)(
  'the headers of %s keep browsers from plain HTTP, frames, guessed types and referrers, and set no cookie',
  async (target) => {
    const { headers } = await call(harness, target);
    const [, age, rest] = /^max-age=(\d+)(.*)$/.exec(headers.get('Strict-Transport-Security') ?? '') ?? [];
    expect([Number(age) >= 31_536_000, rest]).toEqual([true, '; includeSubDomains']);
    const policy = (headers.get('Content-Security-Policy') ?? '').split(/; */);
    const closed = ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"];
    expect(policy).toEqual(expect.arrayContaining(closed));
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    expect(headers.get('Set-Cookie')).toBeNull();
  },
);
