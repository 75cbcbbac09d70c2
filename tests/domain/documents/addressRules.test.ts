import {
  allowedOrigins,
  isAllowedOrigin,
  isPublicAddress,
  isPublicOrigin,
  parseRedirect,
  parseTarget,
} from '../../../src/adapters/download/addressRules.js';

function judge(text: string): 'malformed' | 'forbidden' | 'accepted' {
  const url = parseTarget(text);
  if (!url) return 'malformed';
  return isPublicOrigin(url) ? 'accepted' : 'forbidden';
}

describe('a document URL', () => {
  it.each([
    'https://files.example.com/scan.pdf',
    'HTTPS://FILES.EXAMPLE.COM/scan.pdf?sig=a%2Fb&x=1#page=2',
    'https://files.example.com:8443/a',
    'https://files.example.com./a',
    'https://bücher.example/a',
    'https://8.8.8.8/a',
    'https://[2606:4700:4700::1111]/a',
    `https://files.example.com/${'a'.repeat(2048 - 'https://files.example.com/'.length)}`,
  ])('is accepted as public https: %s', (url) => {
    expect(judge(url)).toBe('accepted');
  });

  it.each([
    ['', 'empty'],
    ['scan.pdf', 'relative'],
    ['//files.example.com/a', 'without a scheme'],
    ['/etc/passwd', 'a path'],
    ['file:///etc/passwd', 'a local file'],
    ['ftp://files.example.com/a', 'ftp'],
    ['gopher://files.example.com:70/_x', 'gopher'],
    ['data:application/pdf;base64,JVBERi0=', 'data'],
    ['javascript:alert(1)', 'script'],
    ['https:files.example.com', 'without slashes'],
    ['https:\\\\files.example.com\\a', 'with backslashes'],
    ['https://files.example.com\\@127.0.0.1/', 'with a backslash in the authority'],
    ['https:///a', 'without a host'],
    ['https://user:secret@files.example.com/a', 'with credentials'],
    ['https://user@files.example.com/a', 'with a user'],
    ['https://@files.example.com/a', 'with an empty user'],
    ['https://files.example.com@127.0.0.1/', 'with a host as user'],
    ['https://files.example.com:0/a', 'port 0'],
    ['https://files.example.com:25/a', 'a port of another protocol'],
    ['https://files.example.com:65536/a', 'a port out of range'],
    ['https://files.example.com:port/a', 'a port that is no number'],
    ['https://files.example.com/a b', 'with a blank'],
    [' https://files.example.com/a', 'with a leading blank'],
    ['https://files.exam\nple.com/a', 'with a line break'],
    ['https://files.example.com/\u0000', 'with NUL'],
    ['https://[fe80::1%25eth0]/', 'with a zone id'],
    ['https://[::1/', 'an unclosed literal'],
    ['https://1.2.3.4.5/', 'an address of five parts'],
    ['https://256.256.256.256/', 'an address out of range'],
    ['https://exa%00mple.com/', 'a forbidden character in the host'],
    [`https://files.example.com/${'a'.repeat(2048)}`, 'too long'],
  ])('is invalid: %j (%s)', (url) => {
    expect(judge(url)).toBe('malformed');
  });

  it.each([
    'http://files.example.com/a',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://a.localhost/',
    'https://intranet/',
    'https://printer.local/',
    'https://db.internal/',
    'https://metadata.google.internal/',
    'https://metadata.google.internal./',
    'https://router.home.arpa/',
    'https://x.onion/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.0.0.1./',
    'https://%31%32%37.0.0.1/',
    'https://１２７.0.0.1/',
    'https://①②⑦.⓪.⓪.①/',
    'https://127。0。0。1/',
    'https://0/',
    'https://0.0.0.0/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.0.1/',
    'https://100.64.0.1/',
    'https://100.100.100.200/',
    'https://169.254.169.254/latest/meta-data/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://0251.0376.0251.0376/',
    'https://168.63.129.16/',
    'https://192.0.0.192/',
    'https://192.0.2.1/',
    'https://198.18.0.1/',
    'https://198.51.100.1/',
    'https://203.0.113.1/',
    'https://224.0.0.1/',
    'https://240.0.0.1/',
    'https://255.255.255.255/',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[::127.0.0.1]/',
    'https://[::7f00:1]/',
    'https://[::ffff:0:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[64:ff9b:1::a9fe:a9fe]/',
    'https://[2002:7f00:1::]/',
    'https://[2002:a9fe:a9fe::1]/',
    'https://[2001:0:7f00:1::]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[fc00::1]/',
    'https://[fd00:ec2::254]/',
    'https://[ff02::1]/',
    'https://[100::1]/',
    'https://[2001:db8::1]/',
    'https://[3fff::1]/',
    'https://[4000::1]/',
    'https://[5f00::1]/',
    'https://[2001:2::1]/',
    'https://[2001:10::1]/',
  ])('is forbidden: %s', (url) => {
    expect(judge(url)).toBe('forbidden');
  });
});

describe('an address', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1',
    '2a00:1450:4001::200e',
  ])('is public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.53',
    '10.1.2.3',
    '::',
    '::1',
    '::ffff:1.1.1.1',
    'fe80::1%eth0',
    '',
    'example.com',
    '1.2.3',
    '0x7f.1',
  ])('is not public: %j', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('the target of a redirect', () => {
  const from = new URL('https://files.example.com/dir/a.pdf');

  it('is resolved against the URL that redirects', () => {
    expect(parseRedirect('../b.pdf?x=1', from)?.href).toBe('https://files.example.com/b.pdf?x=1');
    expect(parseRedirect('//cdn.example.com/b', from)?.href).toBe('https://cdn.example.com/b');
    expect(parseRedirect(Buffer.from('/ü.pdf').toString('latin1'), from)?.pathname).toBe('/%C3%BC.pdf');
  });

  it.each([
    'file:///etc/passwd',
    'ftp://files.example.com/',
    'https://user:secret@files.example.com/',
    'https://',
    'https://[fe80::1%25x]/',
    'https://files.example.com:25/',
    `/${'a'.repeat(2048)}`,
    'javascript:alert(1)',
  ])('is forbidden instead of invalid if it is unusable: %s', (location) => {
    expect(parseRedirect(location, from)).toBeNull();
  });
});

describe('allowed origins', () => {
  it('match host and port exactly', () => {
    const allowed = allowedOrigins(['127.0.0.1:8080', 'Store.Intranet:443', '[::1]:9000', 'plain.example:80'], 'HOSTS');
    const isAllowed = (url: string) => isAllowedOrigin(new URL(url), allowed);
    const inside = [
      'http://127.0.0.1:8080/',
      'http://127.1:8080/',
      'https://127.0.0.1:8080/',
      'https://store.intranet/',
      'http://store.intranet:443/',
      'http://[0::1]:9000/',
      'http://plain.example/',
    ];
    const outside = [
      'http://127.0.0.1/',
      'http://127.0.0.1:8081/',
      'http://store.intranet/',
      'https://sub.store.intranet/',
      'https://store.intranet.evil.example/',
      'https://plain.example/',
      'http://store.intranet.:443/',
    ];
    expect([...inside, ...outside].filter(isAllowed)).toEqual(inside);
  });

  it.each([
    '127.0.0.1',
    'host',
    'host:',
    'host:99999',
    'user@host:80',
    'host:80/path',
    'http://host:80',
    'host:80?x:1',
    '*:80 b:1',
  ])('refuse an entry that is not host:port: %s', (entry) => {
    expect(() => allowedOrigins([entry], 'HOSTS')).toThrow('in HOSTS is not host:port');
  });
});
