import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

const root = fileURLToPath(packageRoot);
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

const all = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).split('\n');

/** Hand-written texts; applied migrations must not change. */
const files = all
  .filter((file) => /\.(ts|js|md|yaml|prisma)$|^Makefile$/.test(file))
  .filter((file) => !file.startsWith('generated/') && file !== 'tests/contract/references.test.ts');

/** `R-12` and `D-07`, as they are defined. */
const definitions = [
  ...[...read('openapi/rules.md').matchAll(/^- \*\*(R-\d+)\*\*/gm)].map(([, id]) => id),
  ...[...read('openapi/decisions.md').matchAll(/^(?:## |- )(D-\d+):/gm)].map(([, id]) => id),
];
const defined = new Set(definitions);

it('every rule R-nn and decision D-nn that a text cites is defined exactly once', () => {
  expect(definitions.filter((id, index) => definitions.indexOf(id) !== index)).toEqual([]);
  const unknown = files.flatMap((file) =>
    [...read(file).matchAll(/(?<![A-Z])\b[RD]-\d{2,3}\b/g)]
      .filter(([id]) => !defined.has(id))
      .map(([id]) => `${file}: ${id}`),
  );
  expect(unknown).toEqual([]);
  expect(defined.size).toBeGreaterThan(150);
});

it('no text cites a document that is outside of the repository', () => {
  const strays = files.flatMap((file) =>
    [...read(file).matchAll(/[Dd]omain rules? "|\binterface §/g)].map(([text]) => `${file}: ${text}`),
  );
  expect(strays).toEqual([]);
});

it('README has at most 150 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

it('every relative link of a document leads to a file', () => {
  const broken = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      // A leading slash is an address of the service, which artifacts.test.ts checks.
      [...read(file).matchAll(/\]\((?!https?:|#|\/)([^)#]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => new URL(target, new URL(file, packageRoot)))
        .filter((url) => !all.some((known) => known.startsWith(fileURLToPath(url).slice(root.length))))
        .map((url) => `${file}: ${url.pathname}`),
    );
  expect(broken).toEqual([]);
});
