import {
  allowedOrigins,
  isAllowedOrigin,
  isPublicAddress,
  isPublicOrigin,
  parseRedirect,
  parseTarget,
} from '../../src/adapters/download/addressRules.js';
import { words } from '../support/words.js';

function judge(text: string): 'malformed' | 'forbidden' | 'accepted' {
  const url = parseTarget(text);
  if (!url) return 'malformed';
  return isPublicOrigin(url) ? 'accepted' : 'forbidden';
}

describe('a document URL', () => {
  it.each([
    ...words(`
      https://files.example.com/scan.pdf HTTPS://FILES.EXAMPLE.COM/scan.pdf?sig=a%2Fb&x=1#page=2 https://8.8.8.8/a
      https://files.example.com:8443/a https://files.example.com./a https://bücher.example/a
      https://[2606:4700:4700::1111]/a`),
    `https://files.example.com/${'a'.repeat(2048 - 'https://files.example.com/'.length)}`,
  ])('is accepted as public https: %s', (url) => {
    expect(judge(url)).toBe('accepted');
  });

  it.each([
    ...words(`
      scan.pdf //files.example.com/a /etc/passwd file:///etc/passwd ftp://files.example.com/a
      data:application/pdf;base64,JVBERi0= gopher://files.example.com:70/_x javascript:alert(1)
      https:files.example.com https:///a https://@files.example.com/a https://user:secret@files.example.com/a
      https://user@files.example.com/a https://files.example.com@127.0.0.1/
      https://files.example.com:65536/a https://files.example.com:port/a
      https://[fe80::1%25eth0]/ https://[::1/ https://1.2.3.4.5/ https://256.256.256.256/ https://exa%00mple.com/`),
    '',
    'https:\\\\files.example.com\\a',
    'https://files.example.com\\@127.0.0.1/',
    'https://files.example.com/a b',
    ' https://files.example.com/a',
    'https://files.exam\nple.com/a',
    'https://files.example.com/\u0000',
    `https://files.example.com/${'a'.repeat(2048)}`,
  ])('is invalid: %j', (url) => {
    expect(judge(url)).toBe('malformed');
  });

  // downloadForbidden.test.ts has the hosts that are forbidden.
  it('is forbidden without TLS', () => {
    expect(judge('http://files.example.com/a')).toBe('forbidden');
  });
});

describe('an address', () => {
  it.each(words('8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.128.0.1 2606:4700::1 2a00:1450:4001::200e'))(
    'is public: %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['', ...words('127.0.0.53 10.1.2.3 :: ::1 ::ffff:1.1.1.1 fe80::1%eth0 example.com 1.2.3 0x7f.1')])(
    'is not public: %j',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );
});

describe('the target of a redirect', () => {
  const from = new URL('https://files.example.com/dir/a.pdf');

  it('is resolved against the URL that redirects', () => {
    expect(parseRedirect('../b.pdf?x=1', from)?.href).toBe('https://files.example.com/b.pdf?x=1');
    expect(parseRedirect('//cdn.example.com/b', from)?.href).toBe('https://cdn.example.com/b');
    expect(parseRedirect(Buffer.from('/ü.pdf').toString('latin1'), from)?.pathname).toBe('/%C3%BC.pdf');
  });

  it.each([
    ...words(`file:///etc/passwd ftp://files.example.com/ https://user:secret@files.example.com/ javascript:alert(1)
      https:// https://[fe80::1%25x]/`),
    `/${'a'.repeat(2048)}`,
  ])('is rejected if it is malformed, too long, not http(s) or has credentials: %s', (location) => {
    expect(parseRedirect(location, from)).toBeNull();
  });
});

describe('allowed origins', () => {
  it('match the normalized host and the port exactly', () => {
    const allowed = allowedOrigins(['127.0.0.1:8080', 'Store.Intranet:443', '[::1]:9000', 'plain.example:80'], 'HOSTS');
    const isAllowed = (url: string) => isAllowedOrigin(new URL(url), allowed);
    const inside = words(`http://127.0.0.1:8080/ http://127.1:8080/ https://127.0.0.1:8080/ https://store.intranet/
      http://store.intranet:443/ http://[0::1]:9000/ http://plain.example/`);
    const outside = words(`http://127.0.0.1/ http://127.0.0.1:8081/ http://store.intranet/ https://sub.store.intranet/
      https://store.intranet.evil.example/ https://plain.example/ http://store.intranet.:443/`);
    expect([...inside, ...outside].filter(isAllowed)).toEqual(inside);
  });

  it.each([
    '*:80 b:1',
    ...words('127.0.0.1 host host: host:99999 user@host:80 host:80/path http://host:80 host:80?x:1'),
  ])('must be host:port, not %s', (entry) => {
    expect(() => allowedOrigins([entry], 'HOSTS')).toThrow('HOSTS must be a list of host:port');
  });
});
